//! Fingerprints of what is sent: one per part of a request, and one of the full request made from those, so
//! that a request that only grew isn't hashed again. Independent of provider dialects. They are stored in the log,
//! and replays are checked against them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use super::request::Request;

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u128);

impl Fingerprint {
    pub fn of(value: &impl Serialize) -> Self {
        // Serializing plain data into memory can't fail.
        Self::of_bytes(&serde_json::to_vec(value).unwrap_or_default())
    }

    /// The key under which requests with the same start are routed to the machine that has it cached.
    pub fn of_start(request: &Request) -> Self {
        let system: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
        Self::of(&(&system, &request.tools, request.messages.first()))
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let half =
            Sha256::digest(bytes).iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte));
        Self(half)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let whole = text.len() == 32 && !text.starts_with('+');
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| whole);
        number.map(Self).ok_or_else(|| de::Error::custom("a fingerprint has 32 hexadecimal digits"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub system: Vec<Fingerprint>,
    pub tools: Fingerprint,
    pub params: Fingerprint,
    pub messages: Vec<Fingerprint>,
}

impl Parts {
    pub fn of(request: &Request) -> Self {
        Self {
            system: request.system.iter().map(|block| Fingerprint::of(&block.text)).collect(),
            tools: Fingerprint::of(&request.tools),
            params: Fingerprint::of(&request.params),
            messages: request.messages.iter().map(Fingerprint::of).collect(),
        }
    }

    pub fn whole(&self) -> Fingerprint {
        let mut bytes = Vec::with_capacity((self.system.len() + self.messages.len() + 2) * 16 + 16);
        // Without the count, a system block could pass for a message.
        bytes.extend((self.system.len() as u64).to_le_bytes());
        let all = self.system.iter().chain([&self.tools, &self.params]).chain(&self.messages);
        all.for_each(|part| bytes.extend(part.0.to_be_bytes()));
        Fingerprint::of_bytes(&bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::request::{Block, Message};

    #[test]
    fn every_part_counts_and_the_text_form_round_trips() {
        let request = Request {
            system: vec![Block { text: "s".into() }],
            messages: vec![Message::User("hi".into())],
            ..Request::default()
        };
        let whole = Parts::of(&request).whole();
        let mut others = [request.clone(), request.clone(), request.clone()];
        others[0].system[0].text = "t".into();
        others[1].messages.push(Message::Assistant("hi".into()));
        others[2].params.temperature = Some(0.5);
        assert!(others.iter().all(|other| Parts::of(other).whole() != whole));
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), whole);
        assert!(serde_json::from_str::<Fingerprint>("\"12\"").is_err());
    }
}
