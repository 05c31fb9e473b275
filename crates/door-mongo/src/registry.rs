//! Every command, one sorted line each. Dispatch, `listCommands` and the support page come from here.

use crate::call::{Call, Running};
use crate::commands::{
    abort_transaction, aggregate, authenticate, build_info, coll_mod, coll_stats,
    commit_transaction, compact, configure_fail_point, connection_status, convert_to_capped, count,
    create, create_indexes, create_role, create_user, current_op, custom_action, data_size,
    db_stats, default_rw_concern, delete, distinct, drop, drop_all_roles, drop_all_users,
    drop_database, drop_indexes, drop_role, drop_user, enable_sharding, end_sessions, explain,
    features, find, find_and_modify, fsync, get_cmd_line_opts, get_log, get_more, get_parameter,
    grant_privileges_to_role, grant_roles_to_role, grant_roles_to_user, hello, host_info, insert,
    kill_all_sessions, kill_all_sessions_by_pattern, kill_cursors, kill_op, kill_sessions,
    list_collections, list_commands, list_databases, list_indexes, logout, map_reduce, ping,
    plan_cache_clear, plan_cache_list_filters, plan_cache_set_filter, profile, re_index,
    refresh_sessions, rename_collection, repl_set_get_config, repl_set_get_status,
    revoke_privileges_from_role, revoke_roles_from_role, revoke_roles_from_user, roles_info,
    sasl_continue, sasl_start, search_indexes, server_status, set_parameter, shard_collection,
    start_session, top, update, update_role, update_user, users_info, validate, whats_my_uri,
};

/// Whether a command may come before the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// Only after it, where a login is asked.
    Needed,
    /// At any time.
    Open,
}

/// One command.
pub(crate) struct Command {
    /// Its name.
    pub(crate) name: &'static str,
    /// Other names it is known by.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) run: for<'a> fn(&'a mut Call<'_>) -> Running<'a>,
    pub(crate) login: Login,
    /// Whether it may come as an old query.
    pub(crate) greets: bool,
    /// What it does, in one sentence.
    pub(crate) about: &'static str,
}

macro_rules! commands {
    ($($name:literal $([$($alias:literal),*])? $module:ident $login:ident $(($greets:ident))? $about:literal;)*) => {
        /// All commands, sorted by name.
        pub(crate) static COMMANDS: &[Command] = &[$(Command {
            name: $name,
            aliases: &[$($($alias),*)?],
            run: |call| Box::pin($module::run(call)),
            login: Login::$login,
            greets: commands!(@greets $($greets)?),
            about: $about,
        },)*];
    };
    (@greets greets) => { true };
    (@greets) => { false };
}

commands! {
    "abortTransaction" abort_transaction Needed "Gives a transaction up.";
    "aggregate" aggregate Needed "Runs a pipeline.";
    "authenticate" authenticate Open "Is refused: certificates of clients are not read.";
    "buildInfo" ["buildinfo"] build_info Open (greets) "Says what this server is.";
    "collMod" coll_mod Needed "Changes an index, an option of a collection, or a view.";
    "collStats" ["collstats"] coll_stats Needed "Tells the size of a collection.";
    "commitTransaction" commit_transaction Needed "Commits a transaction.";
    "compact" compact Needed "Does nothing: space is given back by itself.";
    "configureFailPoint" configure_fail_point Needed "Makes commands fail on purpose, in tests.";
    "connectionStatus" connection_status Open "Says who is logged in.";
    "convertToCapped" convert_to_capped Needed "Makes a collection one that holds only so much.";
    "count" count Needed "Counts documents.";
    "create" create Needed "Makes a collection or a view.";
    "createIndexes" create_indexes Needed "Makes indexes.";
    "createRole" create_role Needed "Defines a role.";
    "createSearchIndexes" search_indexes Needed "Is refused: search indexes require Atlas.";
    "createUser" create_user Needed "Makes a user.";
    "currentOp" current_op Needed "Lists what is under way.";
    "customAction" custom_action Needed "Makes, changes and shows what has throughput, as Cosmos does.";
    "dataSize" ["datasize"] data_size Needed "Tells how many bytes documents have.";
    "dbStats" ["dbstats"] db_stats Needed "Tells the size of a database.";
    "delete" delete Needed "Deletes documents.";
    "distinct" distinct Needed "Finds the different values of a field.";
    "drop" drop Needed "Drops a collection.";
    "dropAllRolesFromDatabase" drop_all_roles Needed "Removes all roles that were defined in a database.";
    "dropAllUsersFromDatabase" drop_all_users Needed "Removes all users of a database.";
    "dropDatabase" drop_database Needed "Drops a database with its collections.";
    "dropIndexes" ["deleteIndexes"] drop_indexes Needed "Drops indexes.";
    "dropRole" drop_role Needed "Removes a role that was defined, also from who has it.";
    "dropSearchIndex" search_indexes Needed "Is refused: search indexes require Atlas.";
    "dropUser" drop_user Needed "Removes a user.";
    "enableSharding" enable_sharding Needed "Accepts that a database is sharded.";
    "endSessions" end_sessions Open "Forgets sessions.";
    "explain" explain Needed "Tells how a command would be executed.";
    "features" features Needed "Tells what the server is built with.";
    "find" find Needed "Reads documents.";
    "findAndModify" ["findandmodify"] find_and_modify Needed "Changes or deletes one document and shows it.";
    "fsync" fsync Needed "Does nothing: what is acknowledged is on disk.";
    "getCmdLineOpts" get_cmd_line_opts Needed "Tells how the server was started.";
    "getDefaultRWConcern" ["setDefaultRWConcern"] default_rw_concern Needed "Tells the concerns that hold by default.";
    "getLog" get_log Needed "Shows the newest lines of the log.";
    "getMore" get_more Needed "Fetches the next batch of a cursor.";
    "getParameter" get_parameter Needed "Tells the value of a parameter.";
    "grantPrivilegesToRole" grant_privileges_to_role Needed "Gives privileges to a role.";
    "grantRolesToRole" grant_roles_to_role Needed "Lets a role inherit from others.";
    "grantRolesToUser" grant_roles_to_user Needed "Gives roles to a user.";
    "hello" ["isMaster", "ismaster"] hello Open (greets) "Greets: says what the server is and can.";
    "hostInfo" host_info Needed "Tells of the machine.";
    "insert" insert Needed "Inserts documents.";
    "killAllSessions" kill_all_sessions Needed "Ends what all sessions do, or those of some users.";
    "killAllSessionsByPattern" kill_all_sessions_by_pattern Needed "Ends what sessions do that fit a pattern.";
    "killCursors" kill_cursors Needed "Closes cursors.";
    "killOp" kill_op Needed "Ends a command that is under way.";
    "killSessions" kill_sessions Needed "Ends what sessions do.";
    "listCollections" list_collections Needed "Lists a database's collections.";
    "listCommands" list_commands Needed "Lists the commands.";
    "listDatabases" list_databases Needed "Lists the databases.";
    "listIndexes" list_indexes Needed "Lists a collection's indexes.";
    "listSearchIndexes" search_indexes Needed "Is refused: search indexes require Atlas.";
    "logout" logout Open "Ends a login.";
    "mapReduce" ["mapreduce"] map_reduce Needed "Is refused: no JavaScript runs here.";
    "ping" ping Open "Answers.";
    "planCacheClear" ["planCacheClearFilters"] plan_cache_clear Needed "Does nothing: no plan is remembered.";
    "planCacheListFilters" plan_cache_list_filters Needed "Lists index filters: there are none.";
    "planCacheSetFilter" plan_cache_set_filter Needed "Is refused: name an index with a hint.";
    "profile" profile Needed "Says which commands of a database are recorded in system.profile, and changes it.";
    "reIndex" re_index Needed "Lists the indexes, which are always whole.";
    "refreshSessions" refresh_sessions Needed "Prolongs sessions.";
    "renameCollection" rename_collection Needed "Gives a collection another name.";
    "replSetGetConfig" repl_set_get_config Needed "Tells how the set of one is configured.";
    "replSetGetStatus" repl_set_get_status Needed "Tells of the set of one.";
    "revokePrivilegesFromRole" revoke_privileges_from_role Needed "Takes privileges from a role.";
    "revokeRolesFromRole" revoke_roles_from_role Needed "Ends that a role inherits from others.";
    "revokeRolesFromUser" revoke_roles_from_user Needed "Takes roles from a user.";
    "rolesInfo" roles_info Needed "Shows roles.";
    "saslContinue" sasl_continue Open "Goes on with a login.";
    "saslStart" sasl_start Open "Begins a login.";
    "serverStatus" server_status Needed "Tells how the server fares.";
    "setParameter" set_parameter Needed "Changes a parameter.";
    "shardCollection" shard_collection Needed "Accepts that a collection is sharded, and makes it.";
    "startSession" start_session Needed "Begins a session.";
    "top" top Needed "Tells where time is spent, by collection.";
    "update" update Needed "Changes documents.";
    "updateRole" update_role Needed "Changes a role that was defined.";
    "updateSearchIndex" search_indexes Needed "Is refused: search indexes require Atlas.";
    "updateUser" update_user Needed "Changes a user.";
    "usersInfo" users_info Needed "Shows users.";
    "validate" validate Needed "Reads every document, counts again, and looks whether indexes name all.";
    "whatsmyuri" whats_my_uri Open "Tells the client its own address.";
}

/// The commands of the stable API, version 1.
pub(crate) const STABLE: [&str; 28] = [
    "abortTransaction",
    "aggregate",
    "authenticate",
    "collMod",
    "commitTransaction",
    "count",
    "create",
    "createIndexes",
    "delete",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "endSessions",
    "explain",
    "find",
    "findAndModify",
    "getMore",
    "hello",
    "insert",
    "killCursors",
    "listCollections",
    "listDatabases",
    "listIndexes",
    "ping",
    "refreshSessions",
    "saslContinue",
    "saslStart",
    "update",
];

/// The commands that may belong to a transaction.
pub(crate) const IN_TRANSACTION: [&str; 11] = [
    "aggregate",
    "create",
    "createIndexes",
    "delete",
    "distinct",
    "find",
    "findAndModify",
    "getMore",
    "insert",
    "killCursors",
    "update",
];

/// A command by one of its names.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS
        .binary_search_by_key(&name, |command| command.name)
        .ok()
        .and_then(|at| COMMANDS.get(at))
        .or_else(|| {
            COMMANDS
                .iter()
                .find(|command| command.aliases.contains(&name))
        })
}

/// The table of commands as Markdown.
#[must_use]
pub fn support_page() -> String {
    let mut page = String::from("| command | also | what it does |\n|---|---|---|\n");
    for command in COMMANDS {
        let aliases = command.aliases.join(", ");
        page.push_str(&format!(
            "| {} | {aliases} | {} |\n",
            command.name, command.about
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_every_name_leads_to_one() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        let mut names: Vec<_> = COMMANDS
            .iter()
            .flat_map(|command| {
                [command.name]
                    .into_iter()
                    .chain(command.aliases.iter().copied())
            })
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| find(name).is_some()));
        assert!(find("FIND").is_none());
    }
}
