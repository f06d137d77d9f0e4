//! What reading or changing one file means, as a finding.

use super::assessment::{Assessment, Effect, Risk};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};

pub fn secret(what: &str) -> Assessment {
    Assessment::new(Risk::Guarded, format!("it reads {what}, which is secret"))
        .with(Effect::Read(what.to_owned()))
}

/// Whether the path of a redirection is the network in disguise, or a disk.
pub fn device(target: &Arg) -> Option<Assessment> {
    let text = target.text.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Some(
            Assessment::new(Risk::Network, "it opens a connection").with(Effect::Net(text.to_owned())),
        );
    }
    let disk = [
        "/dev/sd",
        "/dev/hd",
        "/dev/vd",
        "/dev/xvd",
        "/dev/nvme",
        "/dev/mmcblk",
        "/dev/disk",
        "/dev/mapper",
        "/dev/dm-",
        "/dev/md",
    ];
    disk.iter()
        .any(|front| text.starts_with(front))
        .then(|| Assessment::new(Risk::Destroys, format!("it writes over the disk {text}")))
}

/// How a place that a call writes is judged by its kind; shared by the judges of single programs.
pub fn of_change(changing: WriteRisk, what: &str) -> Assessment {
    let write = Effect::Write(what.to_owned());
    match changing {
        WriteRisk::Nothing => Assessment::reads(),
        WriteRisk::Inside => {
            Assessment::new(Risk::Workspace, "it changes files in the workspace").with(write)
        }
        WriteRisk::Unknown => {
            Assessment::new(Risk::Unknown, format!("what {what} names is not known")).with(write)
        }
        WriteRisk::Guarded(what) => Assessment::new(
            Risk::Guarded,
            format!("it changes {what}, which steers other programs or is the whole workspace"),
        )
        .with(write),
        WriteRisk::Outside(what) | WriteRisk::Everything(what) => {
            Assessment::new(Risk::Guarded, format!("it changes {what}, outside the workspace")).with(write)
        }
    }
}

/// What changing the file means.
pub fn changing(target: &Arg, call: &Call, place: &PathScope) -> Assessment {
    if let Some(finding) = device(target) {
        return finding;
    }
    of_change(place.changing(target, &call.folders), &target.text)
}

/// What reading everything below the word means where links are followed.
pub fn through_links(arg: &Arg, call: &Call, place: &PathScope) -> Assessment {
    of_reading(place.reading_through_links(arg, &call.folders), arg)
}

pub fn reading(arg: &Arg, call: &Call, place: &PathScope, deep: bool) -> Assessment {
    of_reading(place.reading(arg, &call.folders, deep), arg)
}

fn of_reading(reading: ReadRisk, arg: &Arg) -> Assessment {
    match reading {
        ReadRisk::Free => Assessment::reads(),
        ReadRisk::Secret(what) => secret(&what),
        ReadRisk::Unknown => Assessment::new(Risk::Unknown, format!("what {} names is not known", arg.text)),
    }
}
