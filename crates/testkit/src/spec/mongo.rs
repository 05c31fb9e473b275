//! Commands of the Mongo door in a case.

use serde_json::{Value, json};

use super::Difference;
use super::run::{Outcome, Runner};
use super::script::{Line, span_ms, word};
use crate::client::Reply;

impl Runner<'_> {
    /// `mongo {"insert":"c","documents":[…]}`: a command in the case's database. Its status is `ok`, or the code of its failure
    /// or of its first write that failed.
    pub(super) fn mongo(&mut self, line: &Line, rest: &str) -> Outcome {
        let database = self.database().to_owned();
        let Some(client) = self.mongo_client() else {
            let text = "the server has no Mongo door: say `server --mongo-port 0`";
            return Err(Difference::new(text));
        };
        let answer = client.command(&database, rest);
        let mut body = answer.map_err(|error| Difference::new(format!("no answer: {error}")))?;
        let failed = match body.get("code") {
            Some(code) => Some(code.clone()),
            None => body.pointer("/writeErrors/0/code").cloned(),
        };
        let code = failed.and_then(|code| code.as_u64()).unwrap_or(0);
        let message = body.get("errmsg").or(body.pointer("/writeErrors/0/errmsg"));
        let message = message.cloned().unwrap_or(json!(""));
        if let Value::Object(members) = &mut body {
            members.insert("message".to_owned(), message);
            for clock in ["operationTime", "$clusterTime"] {
                members.remove(clock);
            }
        }
        let reply = Reply {
            status: u16::try_from(code).unwrap_or(u16::MAX),
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        };
        self.judge(line, reply, &body, "ok")
    }

    /// `date d +5s`: `$d` stands for the milliseconds so long after the case began, from then on; `-` for before.
    pub(super) fn date(&mut self, rest: &str) -> Outcome {
        let (name, at) = self.moment(rest)?;
        let date = json!({"$date": {"$numberLong": at.to_string()}});
        self.set_name(name, date.to_string());
        Ok(())
    }

    /// `seconds b -5s`: the same as a number of seconds, with a fraction where it has one.
    pub(super) fn seconds(&mut self, rest: &str) -> Outcome {
        let (name, at) = self.moment(rest)?;
        let seconds = match (at / 1000, at % 1000) {
            (whole, 0) => whole.to_string(),
            (whole, part) => format!("{whole}.{part:03}"),
        };
        self.set_name(name, seconds);
        Ok(())
    }

    /// A name, and a moment by its distance from the beginning of the case, in milliseconds.
    fn moment<'a>(&self, rest: &'a str) -> Result<(&'a str, u64), Difference> {
        let (name, span) = word(rest);
        let bad = || Difference::new(format!("`{rest}` is not like `d +5s` or `d -5s`"));
        let (sign, span) = span.split_at_checked(1).ok_or_else(bad)?;
        let span = span_ms(span).ok_or_else(bad)?;
        match sign {
            "+" => Ok((name, self.zero_ms() + span)),
            "-" => Ok((name, self.zero_ms() - span)),
            _ => Err(bad()),
        }
    }
}
