//! `mycode models`: the vendors and servers that could be asked, and their models.

use clap::Args;
use futures_util::future::join_all;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::provider::vendors::{VENDORS, Vendor};
use base::config::settings::ProviderSettings;
use base::path::on_one_line;
use base::text;
use provider::unconfigured;
use provider::window::probe;

const HELP: &str = include_str!("../../help/models.txt");

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ModelsArgs {
    /// Only models whose names contain this
    pub filter: Option<String>,
}

pub async fn run(cli: &SharedArgs, args: &ModelsArgs) -> Result<(), Failure> {
    let loaded = open::any_model(&cli.model)?.loaded;
    if let Some(error) = loaded.provider_error {
        return Err(error.into());
    }
    let others = loaded.vendors.iter().map(|(vendor, settings)| (Some(*vendor), settings));
    let places: Vec<_> = loaded.provider.iter().map(|settings| (None, settings)).chain(others).collect();
    let lists = join_all(places.iter().map(|(vendor, settings)| list(*vendor, settings, args))).await;
    let missing = VENDORS.iter().filter(|vendor| {
        let at = |settings: &ProviderSettings| Vendor::at(&settings.base_url) == Some(vendor);
        !places.iter().any(|(other, settings)| *other == Some(vendor) || at(settings))
    });
    // ChatGPT needs a sign-in, not a variable.
    let keys: Vec<&str> =
        missing.map(|vendor| vendor.keys[0].as_str()).filter(|key| *key != "CHATGPT_SIGN_IN").collect();
    let mut out = lists.concat();
    if places.is_empty() {
        out.push_str(&format!("No model is configured: {}.\n", unconfigured::ADVICE));
    }
    if loaded.provider.is_none() || !loaded.vendors.is_empty() {
        out.push_str(&format!("Not set: {}.\n", keys.join(", ")));
    }
    report::say(&out)
}

async fn list(vendor: Option<&'static Vendor>, settings: &ProviderSettings, args: &ModelsArgs) -> String {
    let name = vendor.map_or("In use", Vendor::name);
    let mut out = format!("{name}: {} at {}\n", settings.model, settings.base_url);
    let listed = probe::models(settings).await;
    if listed.is_empty() {
        out.push_str("  The server does not list its models.\n");
    }
    let wanted = |name: &str| args.filter.as_ref().is_none_or(|part| name.contains(part.as_str()));
    for (model, window) in listed.iter().filter(|(model, _)| wanted(model)) {
        let model = on_one_line(model);
        let window = window.map(|tokens| format!("  {}", text::human_tokens(tokens))).unwrap_or_default();
        match vendor {
            Some(vendor) => out.push_str(&format!("  {}/{model}{window}\n", vendor.name())),
            None => out.push_str(&format!("  {model}{window}\n")),
        }
    }
    out
}
