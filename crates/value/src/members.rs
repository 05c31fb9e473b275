//! Building an object whose members are replaced by name, in time linear in their number.

use std::collections::HashMap;

use crate::{Object, Str, Value};

/// Up to so many members a name is compared with all; beyond, names are hashed.
const COMPARED_MAX: usize = 16;

/// An object under construction. Of several members of a name the last wins, in the place of the first.
///
/// The hashing is keyed at random, so no choice of names makes it slow.
#[derive(Clone, Debug)]
pub struct Members {
    members: Vec<(Str, Value)>,
    /// Where each name stands, once there are more than a few.
    places: HashMap<Str, usize>,
    /// Whether names are to be hashed at all.
    indexes: bool,
}

impl Members {
    /// No members.
    pub fn new() -> Members {
        Members {
            members: Vec::new(),
            places: HashMap::new(),
            indexes: true,
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Replaces the member in its place, or appends it. Returns what was there before.
    pub fn insert(&mut self, name: &Str, value: Value) -> Option<Value> {
        if let Some(place) = self.place(name)
            && let Some((_, old)) = self.members.get_mut(place)
        {
            return Some(std::mem::replace(old, value));
        }
        if !self.places.is_empty() {
            self.places.insert(name.clone(), self.members.len());
        }
        self.members.push((name.clone(), value));
        if self.indexes && self.places.is_empty() && self.members.len() > COMPARED_MAX {
            let places = self.members.iter().enumerate();
            self.places = places.map(|(at, (name, _))| (name.clone(), at)).collect();
        }
        None
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.places.is_empty() {
            return self.members.iter().position(|(known, _)| known == name);
        }
        self.places.get(name).copied()
    }

    /// The member of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name)?;
        self.members.get_mut(place).map(|(_, value)| value)
    }

    /// Goes on with an object of which so many members are looked up: few are found without an index.
    pub fn among(object: Object, lookups: usize) -> Members {
        if lookups > COMPARED_MAX {
            return Members::from(object);
        }
        Members {
            members: object.into_members(),
            places: HashMap::new(),
            indexes: false,
        }
    }

    /// A copy of the object as it is now.
    pub fn to_object(&self) -> Object {
        Object::from(self.members.clone())
    }

    /// The object.
    pub fn into_object(self) -> Object {
        Object::from(self.members)
    }
}

impl From<Object> for Members {
    /// Goes on with an object whose names are distinct.
    fn from(object: Object) -> Members {
        let members = object.into_members();
        let places = match members.len() > COMPARED_MAX {
            true => members
                .iter()
                .enumerate()
                .map(|(at, (name, _))| (name.clone(), at))
                .collect(),
            false => HashMap::new(),
        };
        Members {
            members,
            places,
            indexes: true,
        }
    }
}

impl Default for Members {
    fn default() -> Members {
        Members::new()
    }
}
