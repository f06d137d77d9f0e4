//! What reading or changing one file means, as an assessment.

use super::assessment::{Assessment, Effect, Risk};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};

pub fn secret(what: &str) -> Assessment {
    Assessment::new(Risk::Guarded, format!("reads {what}, which is secret"))
        .with(Effect::Read(what.to_owned()))
}

/// A redirection's target may be a network connection or a disk.
pub fn device(target: &Arg) -> Option<Assessment> {
    let text = target.text.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Some(Assessment::new(Risk::Network, "opens a connection").with(Effect::Net(text.to_owned())));
    }
    const DISKS: &str = "sd hd vd xvd nvme mmcblk disk mapper dm- md";
    let disk = |text: &str| DISKS.split(' ').any(|name| text.starts_with(name));
    let is_disk = text.strip_prefix("/dev/").is_some_and(disk);
    is_disk.then(|| Assessment::new(Risk::Destroys, format!("overwrites the disk {text}")))
}

fn of_change(changing: WriteRisk, what: &str) -> Assessment {
    let write = Effect::Write(what.to_owned());
    match changing {
        WriteRisk::Nothing => Assessment::reads(),
        WriteRisk::Inside => {
            Assessment::new(Risk::Workspace, "changes files in the workspace or temporary files").with(write)
        }
        WriteRisk::Unknown => {
            Assessment::new(Risk::Unknown, format!("changes {what}, whose value is unknown")).with(write)
        }
        WriteRisk::Guarded(what) => Assessment::new(
            Risk::Guarded,
            format!("changes {what}, which controls other programs or is the whole workspace"),
        )
        .with(write),
        WriteRisk::Outside(what) | WriteRisk::Everything(what) => {
            Assessment::new(Risk::Guarded, format!("changes {what}, outside the workspace")).with(write)
        }
    }
}

pub fn changing(target: &Arg, call: &Call, scope: &PathScope) -> Assessment {
    if let Some(device) = device(target) {
        return device;
    }
    of_change(scope.changing(target, &call.folders), &target.text)
}

pub fn through_links(arg: &Arg, call: &Call, scope: &PathScope) -> Assessment {
    of_reading(scope.reading_through_links(arg, &call.folders), arg)
}

pub fn reading(arg: &Arg, call: &Call, scope: &PathScope, deep: bool) -> Assessment {
    of_reading(scope.reading(arg, &call.folders, deep), arg)
}

fn of_reading(reading: ReadRisk, arg: &Arg) -> Assessment {
    match reading {
        ReadRisk::Free => Assessment::reads(),
        ReadRisk::Secret(what) => secret(&what),
        ReadRisk::Unknown => {
            Assessment::new(Risk::Unknown, format!("reads {}, whose value is unknown", arg.text))
        }
    }
}
