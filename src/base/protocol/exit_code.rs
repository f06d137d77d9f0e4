//! How a run ended: its exit code and its name.

use strum::FromRepr;

use super::event::{EndReason, FailureCause, TurnEnd};

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub enum ExitCode {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Config = 3,
    Provider = 4,
    StepLimit = 5,
    CostLimit = 6,
    Deadline = 7,
    Denied = 8,
    Schema = 9,
    SetAside = 10,
    NothingChanged = 11,
    NoProgress = 12,
    Stuck = 13,
    Interrupted = 130,
}

impl ExitCode {
    pub fn of(end: &TurnEnd) -> Self {
        match &end.reason {
            EndReason::Done if end.denied_at_end => Self::Denied,
            EndReason::Done if !end.set_aside.is_empty() => Self::SetAside,
            EndReason::Done => Self::Done,
            EndReason::StepLimit { .. } => Self::StepLimit,
            EndReason::Failed { cause, .. } => match cause {
                FailureCause::OutputLimit | FailureCause::Stuck | FailureCause::Empty => Self::Stuck,
                FailureCause::CostLimit => Self::CostLimit,
                FailureCause::Deadline => Self::Deadline,
                FailureCause::Schema => Self::Schema,
                FailureCause::NoProgress => Self::NoProgress,
                FailureCause::Denied => Self::Denied,
                FailureCause::Refused | FailureCause::Other => Self::Failed,
            },
            EndReason::ProviderFailed { .. } => Self::Provider,
            EndReason::Interrupted { .. } => Self::Interrupted,
        }
    }

    /// The worst of several codes: failures before limits before success.
    pub fn worst(codes: impl Iterator<Item = u8>) -> u8 {
        let worst_first = [
            Self::Interrupted,
            Self::Usage,
            Self::Config,
            Self::Failed,
            Self::Provider,
            Self::Stuck,
            Self::NoProgress,
            Self::Schema,
            Self::StepLimit,
            Self::CostLimit,
            Self::Deadline,
            Self::Denied,
            Self::NothingChanged,
            Self::SetAside,
            Self::Done,
        ];
        let place = |code: u8| worst_first.iter().position(|worse| *worse == Self::known(code));
        codes.filter_map(place).min().map_or(Self::Done, |place| worst_first[place]) as u8
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "wrong usage",
            Self::Config => "wrong configuration",
            Self::Provider => "no answer from the model",
            Self::StepLimit => "step limit",
            Self::CostLimit => "cost limit",
            Self::Deadline => "out of time",
            Self::Denied => "denied",
            Self::Schema => "the answer doesn't fit the schema",
            Self::SetAside => "done, but files were set aside",
            Self::NothingChanged => "nothing changed",
            Self::NoProgress => "no progress",
            Self::Stuck => "stuck",
            Self::Interrupted => "interrupted",
        }
    }

    /// Shells report a signal as 128 plus its number.
    pub fn known(code: u8) -> Self {
        let unknown = if code > 128 { Self::Interrupted } else { Self::Failed };
        Self::from_repr(code).unwrap_or(unknown)
    }

    /// Any program's code in words, with its number unless it succeeded.
    pub fn shown(code: u8) -> String {
        match Self::known(code) {
            Self::Done => Self::Done.text().to_owned(),
            known => format!("{} ({code})", known.text()),
        }
    }
}
