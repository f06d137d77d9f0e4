//! From the opened project to everything that an agent is made from.

use std::sync::Arc;

use super::limits;

use super::open::{self, OpenedProject, SessionSelector};
use crate::cli::args::SharedArgs;
use crate::cli::report::Failure;
use crate::cli::setup::ports::PORTS;
use agent::assemble::{self, RoleSession, Setup};
use agent::sampling::metered;
use base::config::settings::{Origin, Permission, WorkSettings};
use base::model::provider::Provider;
use context::session::stored;
use guard::sandbox::probe as sandbox_probe;
use provider::registry;
use provider::unconfigured::{self, Unconfigured};
use provider::window::finder::{LearningProvider, WindowFinder};
use provider::window::probe;

pub async fn roles(cli: &SharedArgs) -> Result<RoleSession, Failure> {
    Ok(assemble::roles(setup(cli, false, &SessionSelector::New).await?)?)
}

/// Fails if a rule of the command line names nothing.
pub fn check_rules(cli: &SharedArgs) -> Result<(), Failure> {
    limits::parse(&[limits::flags(&cli.model)]).map(drop)
}

/// Without a configured model, looks for local servers; without those, an interactive agent opens anyway.
pub async fn setup(cli: &SharedArgs, interactive: bool, which: &SessionSelector) -> Result<Setup, Failure> {
    if cli.model.permission != Some(Permission::Full) {
        sandbox_probe::begin();
    }
    let default_permission = if interactive { Permission::Ask } else { Permission::Auto };
    let mut opened = open::open(&cli.model, default_permission)?;
    let own_folders = opened.own_folders();
    let mut resume = open::session_or_task(&opened.workspace, &opened.project_state, which)?;
    let begun = open::begun(resume.as_deref());
    if let Some(args) = cli.model.continuing(&begun.model) {
        opened = open::open(&args, default_permission)?;
        // A later choice with /model counts more.
        opened.loaded.model_flag = cli.model.model.is_some();
    }
    let OpenedProject { mut loaded, workspace, project_state, .. } = opened;
    limits::keep_begun(begun, &cli.model, &mut loaded);
    let limits = limits::of(&cli.model, &mut loaded, &workspace)?;
    if let Some(error) = loaded.provider_error.take() {
        return Err(error.into());
    }
    if resume.is_none() && matches!(which, SessionSelector::LastOrNew) {
        loaded.notices.push("This project has no sessions yet, so a new one starts.".to_owned());
    }
    let is_elsewhere = resume.as_ref().is_some_and(|log| !log.starts_with(&project_state));
    if is_elsewhere {
        let copied = "This session of a batch ran in a folder of its own; it continues here in a copy.";
        loaded.notices.push(copied.to_owned());
    }
    let undecided: Vec<String> =
        loaded.undecided().iter().map(|(vendor, made)| vendor.full_name(&made.model)).collect();
    if let Some(first) = undecided.first() {
        loaded.notices.push(format!(
            "Using {first}, the first of {} vendors with a key ({}). --model or `model = …` in config.toml chooses.",
            undecided.len(),
            undecided.join(", ")
        ));
    }
    let provider: Arc<dyn Provider> = match &loaded.provider {
        Some(settings) => registry::build_all(settings, &loaded)?,
        None => match probe::find_local().await {
            Some(server) => {
                let model = server.models.first().cloned().unwrap_or_default();
                let settings = loaded.local_provider(server.base_url.clone(), &model);
                loaded
                    .notices
                    .push(format!("Using {} at {} ({}).", server.name, server.base_url, settings.model));
                loaded.context = loaded.context_for(&settings.model, None)?;
                let provider = registry::build(&settings)?;
                loaded.provider = Some(settings);
                provider
            }
            None if interactive => {
                loaded.notices.push(format!("No model is configured yet: {}.", unconfigured::ADVICE));
                Arc::new(Unconfigured)
            }
            None => {
                let what = cli.model.model.as_ref().map_or_else(
                    || "no model is configured".to_owned(),
                    |model| format!("neither a key nor a server is configured for {model}"),
                );
                return Err(Failure::config(what, unconfigured::ADVICE));
            }
        },
    };
    let finder = WindowFinder::new(&loaded.servers);
    if loaded.context.window_origin != Origin::User
        && let Some(settings) = &loaded.provider
    {
        let found = finder.find(settings).await;
        loaded.context = loaded.context_for(&settings.model, found.learned())?;
        loaded.notices.extend(found.advice);
    }
    let provider = match &loaded.provider {
        Some(settings) => LearningProvider::wrap(provider, finder, settings),
        None => provider,
    };
    let model =
        loaded.provider.as_ref().map_or_else(|| Arc::from(unconfigured::NO_MODEL), |s| Arc::clone(&s.model));
    let asked = loaded.work.light_model.iter().chain([&model]);
    if let Some(unpriced) =
        asked.filter(|_| limits.max_cost.is_some()).find(|model| !metered::is_priced(model))
    {
        let row =
            format!("{{ name = \"{unpriced}\", window = TOKENS, price = {{ input = USD, output = USD }} }}");
        let hint = format!(
            "use --max-steps, or set its price per million tokens in models.toml next to config.toml: models = [{row}]"
        );
        return Err(Failure::usage(metered::unknown_price(unpriced), hint));
    }
    if !interactive {
        refuse_unconfined(&loaded.work)?;
    }
    if let Some(log) = resume.as_mut().filter(|_| cli.fork || is_elsewhere) {
        *log = stored::fork(&project_state, &workspace, log)?;
    }
    Ok(Setup {
        loaded,
        provider,
        model,
        workspace,
        project_state,
        own_folders,
        interactive,
        resume,
        limits,
        editor: None,
        host: None,
        ports: PORTS,
        instructions: String::new(),
        session_id: None,
    })
}

/// No user is watching, so a level that the kernel can't enforce must not run.
fn refuse_unconfined(work: &WorkSettings) -> Result<(), Failure> {
    let demanded = work.sandbox && matches!(work.permission, Permission::ReadOnly | Permission::Auto);
    match demanded.then(|| sandbox_probe::status().refusal()).flatten() {
        Some(why) => Err(Failure::config(
            format!("permission level {} can't be enforced: {why}", work.permission.into_str()),
            "`mycode doctor` shows what is missing; --permission full, or sandbox = false in your config.toml, runs without a sandbox",
        )),
        None => Ok(()),
    }
}
