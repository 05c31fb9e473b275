//! The collections that a pipeline reads and writes.

use lapsedb_service::logins::action::Action;
use lapsedb_service::logins::privilege::Target;
use lapsedb_value::Value;

/// One thing that a pipeline does.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) action: Action,
    pub(super) target: Target,
}

/// How deep pipelines are looked into: deeper than any may be.
const DEPTH_MAX: usize = 64;

/// All that a pipeline over a target does; what it reads at its beginning only `first`.
pub(super) fn uses(pipeline: &[Value], own: &Target, first: bool) -> Vec<Use> {
    let mut all = Uses {
        database: match own {
            Target::Database(database) | Target::Collection(database, _) => database.clone(),
            Target::Cluster => String::new(),
        },
        found: Vec::new(),
    };
    if first {
        all.source(pipeline, own);
    }
    all.stages(pipeline, 0);
    all.found
}

struct Uses {
    database: String,
    found: Vec<Use>,
}

impl Uses {
    fn push(&mut self, action: Action, target: Target) {
        self.found.push(Use { action, target });
    }

    fn named(&self, name: &str) -> Target {
        Target::Collection(self.database.clone(), name.to_owned())
    }

    /// A collection by its name, or by database and name.
    fn place(&self, value: &Value) -> Target {
        match (value, value.get("db").as_str()) {
            (Value::String(name), _) => self.named(name),
            (_, Some(database)) => {
                let name = value.get("coll").as_str().unwrap_or_default();
                Target::Collection(database.to_owned(), name.to_owned())
            }
            (_, None) => self.named(value.get("coll").as_str().unwrap_or_default()),
        }
    }

    /// What the pipeline begins with.
    fn source(&mut self, pipeline: &[Value], own: &Target) {
        let name = pipeline
            .first()
            .and_then(Value::as_object)
            .and_then(|stage| stage.keys().next().cloned())
            .unwrap_or_default();
        let value = pipeline.first().map(|stage| stage.get(name.as_str()));
        match name.as_str() {
            "$changeStream" => {
                let everywhere = value.map(|value| value.get("allChangesForCluster"));
                if matches!(everywhere, Some(Value::Bool(true))) {
                    // Every database there is, so who may read them all.
                    for action in [Action::ChangeStream, Action::Find] {
                        self.push(action, Target::Database(String::new()));
                    }
                    return;
                }
                self.push(Action::ChangeStream, own.clone());
                self.push(Action::Find, own.clone());
            }
            "$collStats" => self.push(Action::CollStats, own.clone()),
            "$indexStats" => self.push(Action::IndexStats, own.clone()),
            "$planCacheStats" => self.push(Action::PlanCacheRead, own.clone()),
            "$currentOp" => {
                let all = value.map(|value| value.get("allUsers"));
                if matches!(all, Some(Value::Bool(true))) {
                    self.push(Action::Inprog, Target::Cluster);
                }
            }
            "$listSessions" => self.push(Action::ListSessions, Target::Cluster),
            "$documents" | "$listLocalSessions" => {}
            _ => self.push(Action::Find, own.clone()),
        }
    }

    fn stages(&mut self, pipeline: &[Value], depth: usize) {
        if depth > DEPTH_MAX {
            // Nobody but who may do everything gets an answer to this.
            self.push(Action::AnyAction, Target::Cluster);
            return;
        }
        for stage in pipeline {
            let Some((name, value)) = stage.as_object().and_then(|stage| stage.iter().next())
            else {
                continue;
            };
            self.stage(name, value, depth);
        }
    }

    fn stage(&mut self, name: &str, value: &Value, depth: usize) {
        match name {
            "$lookup" | "$graphLookup" => {
                if !matches!(value.get("from"), Value::Undefined) {
                    let target = self.place(value.get("from"));
                    self.push(Action::Find, target);
                }
                self.inner(value.get("pipeline"), depth);
            }
            "$unionWith" => {
                if value.as_str().is_some() || !matches!(value.get("coll"), Value::Undefined) {
                    let target = self.place(value);
                    self.push(Action::Find, target);
                }
                self.inner(value.get("pipeline"), depth);
            }
            "$facet" => {
                for (_, pipeline) in value.as_object().into_iter().flat_map(|all| all.iter()) {
                    self.inner(pipeline, depth);
                }
            }
            "$out" => {
                let target = self.place(value);
                self.push(Action::Insert, target.clone());
                self.push(Action::Remove, target);
            }
            "$merge" => self.merge(value),
            _ => {}
        }
    }

    fn merge(&mut self, value: &Value) {
        let target = match value {
            Value::String(_) => self.place(value),
            _ => self.place(value.get("into")),
        };
        let insert = match value.get("whenNotMatched").as_str() {
            Some("discard" | "fail") => false,
            Some(_) | None => true,
        };
        let update = !matches!(
            value.get("whenMatched").as_str(),
            Some("keepExisting" | "fail")
        );
        if insert || !update {
            self.push(Action::Insert, target.clone());
        }
        if update {
            self.push(Action::Update, target);
        }
    }

    fn inner(&mut self, pipeline: &Value, depth: usize) {
        if let Some(stages) = pipeline.as_array() {
            self.stages(stages, depth + 1);
        }
    }
}
