//! What reading or changing one file means, as a finding. Knows no program.

use super::finding::{Effect, Finding, Grade};
use crate::policy::flow::call::{Arg, Call};
use crate::policy::place::{Changing, Place, Reading};

pub fn secret(what: &str) -> Finding {
    Finding::new(Grade::Guarded, format!("it reads {what}, which is secret"))
        .with(Effect::Read(what.to_owned()))
}

/// Whether the path of a redirection is the network in disguise, or a disk.
pub fn device(target: &Arg) -> Option<Finding> {
    let text = target.text.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Some(
            Finding::new(Grade::Network, "it opens a connection").with(Effect::Net(text.to_owned())),
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
        .then(|| Finding::new(Grade::Never, format!("it writes over the disk {text}")))
}

/// How a place that a call writes is judged by its kind; shared by the judges of single programs.
pub fn of_change(changing: Changing, what: &str) -> Finding {
    let write = Effect::Write(what.to_owned());
    match changing {
        Changing::Nothing => Finding::looks(),
        Changing::Inside => Finding::new(Grade::Works, "it changes files in the workspace").with(write),
        Changing::Unknown => {
            Finding::new(Grade::Unsure, format!("what {what} names is not known")).with(write)
        }
        Changing::Guarded(what) => Finding::new(
            Grade::Guarded,
            format!("it changes {what}, which steers other programs or is the whole workspace"),
        )
        .with(write),
        Changing::Outside(what) | Changing::Everything(what) => {
            Finding::new(Grade::Guarded, format!("it changes {what}, outside the workspace")).with(write)
        }
    }
}

/// What changing the file means.
pub fn changing(target: &Arg, call: &Call, place: &Place) -> Finding {
    if let Some(finding) = device(target) {
        return finding;
    }
    of_change(place.changing(target, &call.folders), &target.text)
}

/// What reading everything below the word means where links are followed.
pub fn through_links(arg: &Arg, call: &Call, place: &Place) -> Finding {
    of_reading(place.reading_through_links(arg, &call.folders), arg)
}

pub fn reading(arg: &Arg, call: &Call, place: &Place, deep: bool) -> Finding {
    of_reading(place.reading(arg, &call.folders, deep), arg)
}

fn of_reading(reading: Reading, arg: &Arg) -> Finding {
    match reading {
        Reading::Free => Finding::looks(),
        Reading::Secret(what) => secret(&what),
        Reading::Unknown => Finding::new(Grade::Unsure, format!("what {} names is not known", arg.text)),
    }
}
