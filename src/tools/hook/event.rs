//! The events on which hooks run.

use std::time::Duration;

use serde::Deserialize;

/// Variants have the names used in settings and payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    Notification,
    SubagentStart,
    SubagentStop,
    Stop,
    PreCompact,
    PostCompact,
    SessionEnd,
}

impl HookEvent {
    pub fn parse(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// Whether it concerns a tool call; conditions apply only to those.
    pub fn is_about_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    pub fn ignores_matcher(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// Whether plain text on standard output is context for the model.
    pub fn takes_plain_text(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit)
    }

    /// Whether blocking prevents something or is reported to the model.
    pub fn can_block(self) -> bool {
        !matches!(
            self,
            Self::SessionStart
                | Self::Notification
                | Self::SubagentStart
                | Self::PostCompact
                | Self::SessionEnd
        )
    }

    pub fn can_fail_closed(self) -> bool {
        self.can_block() && !matches!(self, Self::Stop | Self::SubagentStop)
    }

    pub fn timeout(self) -> Duration {
        match self {
            Self::UserPromptSubmit => Duration::from_secs(30),
            Self::SessionEnd => Duration::from_millis(1_500),
            _ => Duration::from_secs(600),
        }
    }

    pub fn most(self) -> Duration {
        match self {
            Self::SessionEnd => Duration::from_secs(60),
            _ => Duration::from_secs(24 * 3600),
        }
    }
}
