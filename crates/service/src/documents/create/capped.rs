//! Collections that hold only so much.

use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::documents::members::{Members, invalid};

/// Bytes a capped collection may be given: a pebibyte.
const SIZE_MAX: i64 = 1 << 50;
/// Sizes are multiples of so many bytes.
const SIZE_STEP: i64 = 256;

/// Reads `capped`, `size` and `max`.
pub(super) fn read(members: &Members<'_>, kept: &mut Object) -> Result<()> {
    let (size, max) = (size_of(members, "size")?, max_of(members, "max")?);
    if !members.truth("capped")? {
        if size.is_some() || max.is_some() {
            return Err(invalid(
                "the 'capped' field needs to be true when either the 'size' or 'max' fields are present",
            ));
        }
        return Ok(());
    }
    let Some(size) = size else {
        return Err(invalid(
            "the 'size' field is required when 'capped' is true",
        ));
    };
    kept.push("capped", true);
    kept.push("size", size);
    if let Some(max) = max {
        kept.push("max", max);
    }
    Ok(())
}

/// A size in bytes, as it is kept.
pub(crate) fn size_of(members: &Members<'_>, name: &str) -> Result<Option<Value>> {
    let size = members.number(name, 1, SIZE_MAX)?;
    Ok(size.map(|size| {
        let whole = (size + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP;
        i32::try_from(whole).map_or(Value::Int64(whole), Value::Int32)
    }))
}

/// A number of documents, as it is kept: none or fewer means all there can be.
pub(crate) fn max_of(members: &Members<'_>, name: &str) -> Result<Option<Value>> {
    let max = members.number(name, i64::MIN, i64::from(i32::MAX))?;
    Ok(max.map(|max| match i32::try_from(max) {
        Ok(max) if max > 0 => Value::Int32(max),
        Ok(_) | Err(_) => Value::Int32(i32::MAX),
    }))
}
