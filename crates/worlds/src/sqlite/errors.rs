//! Maps errors of SQLite to errors of the contract.

use rhythm_engine::world::WorldError;
use rusqlite::{Error, ErrorCode, ffi};

pub fn from_sqlite(error: Error) -> WorldError {
    let text = error.to_string();
    match &error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
                WorldError::Locked(text)
            }
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => WorldError::ReadOnly(text),
            ErrorCode::DiskFull => WorldError::Full(text),
            // The memory shared between processes is a file too. No room for it means that the disk is full.
            ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                WorldError::Full(text)
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation => {
                WorldError::Corrupt(text)
            }
            ErrorCode::TooBig => WorldError::Invalid(text),
            _ => WorldError::Unavailable(text),
        },
        // Only a value that was read from a row can have the wrong type here.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => WorldError::Corrupt(text),
        _ => WorldError::Unavailable(text),
    }
}

/// Whether the file, or one that belongs beside it, cannot be opened by this user as is needed.
pub fn is_no_access(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// Whether the disk refused to keep what was written. After that nothing may be assumed about the file: a second
/// fsync may succeed although the first one lost the data.
pub fn is_lost_write(error: &Error) -> bool {
    match error {
        Error::SqliteFailure(failure, _) => {
            failure.code == ErrorCode::SystemIoFailure && failure.extended_code != ffi::SQLITE_IOERR_SHMSIZE
        }
        _ => false,
    }
}

pub fn from_io(what: &str, error: &std::io::Error) -> WorldError {
    use std::io::ErrorKind;
    let text = format!("{what}: {error}");
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => WorldError::ReadOnly(text),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => WorldError::Full(text),
        _ => WorldError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn each_code_says_what_to_do_next() {
        let name = |code| from_sqlite(failure(code)).code();
        assert_eq!(name(ffi::SQLITE_BUSY), "WORLD002");
        assert_eq!(name(ffi::SQLITE_READONLY_DBMOVED), "WORLD003");
        assert_eq!(name(ffi::SQLITE_PERM), "WORLD003");
        assert_eq!(name(ffi::SQLITE_FULL), "WORLD004");
        assert_eq!(name(ffi::SQLITE_IOERR_FSYNC), "WORLD001");
        assert_eq!(name(ffi::SQLITE_NOTADB), "WORLD009");
        assert_eq!(name(ffi::SQLITE_CORRUPT), "WORLD009");
    }

    #[test]
    fn only_a_disk_that_refused_data_breaks_the_world() {
        assert!(is_lost_write(&failure(ffi::SQLITE_IOERR_FSYNC)));
        assert!(is_lost_write(&failure(ffi::SQLITE_IOERR_WRITE)));
        assert!(!is_lost_write(&failure(ffi::SQLITE_IOERR_SHMSIZE)));
        assert!(!is_lost_write(&failure(ffi::SQLITE_FULL)));
        assert!(!is_lost_write(&failure(ffi::SQLITE_BUSY)));
    }
}
