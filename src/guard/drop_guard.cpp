#include "guard/drop_guard.hpp"

#include "guard/occupied.hpp"
#include "pg/boundary.hpp"
#include "pg/settings.hpp"

namespace reservation {

namespace {

object_access_hook_type previous_hook = nullptr;

// The kind whose hold table this is, by its columns, if the table is a member of the extension. It may have been
// renamed.
const Kind *kind_of_member(Oid relation)
{
    const auto has = [relation](const char *column) { return get_attnum(relation, column) != InvalidAttrNumber; };
    if (get_rel_relkind(relation) != RELKIND_RELATION || !has("hold_id") || !has("expires_at"))
        return nullptr;
    for (const Kind *kind : kinds()) {
        if (!has(kind->resource_column))
            continue;
        const Oid extension = getExtensionOfObject(RelationRelationId, relation);
        const char *owner = OidIsValid(extension) ? get_extension_name(extension) : nullptr;
        return owner != nullptr && strcmp(owner, "reservation") == 0 ? kind : nullptr;
    }
    return nullptr;
}

// A member table can be dropped with its extension only, and is dropped before it, whatever statement started that:
// DROP EXTENSION, DROP SCHEMA … CASCADE, DROP OWNED BY. Comparing the names in a statement would miss some.
void refuse_drop(Oid relation)
{
    const Kind *kind = kind_of_member(relation);
    if (kind == nullptr || settings.allow_drop)
        return;
    Relation holds = table_open(relation, AccessShareLock);
    const bool promised = has_promises(holds, *kind);
    table_close(holds, NoLock);
    if (promised)
        ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                        errmsg("cannot drop extension reservation while holds occupy capacity"),
                        errdetail("Table \"%s\" has holds that are held, under review, or confirmed for a period that "
                                  "is not over.",
                                  get_rel_name(relation)),
                        errhint("Drain it first, or set reservation.allow_drop = on to lose them.")));
}

extern "C" {
static void drop_guard_hook(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
    boundary([&] {
        if (previous_hook != nullptr)
            previous_hook(access, class_id, object_id, sub_id, arg);
        if (access == OAT_DROP && class_id == RelationRelationId && sub_id == 0)
            refuse_drop(object_id);
    });
}
}

}  // namespace

void install_drop_guard()
{
    previous_hook = object_access_hook;
    object_access_hook = drop_guard_hook;
}

// reservation_load() as an event trigger on ddl_command_start: being called is enough, it loads the library and so
// the hook.
RESERVATION_FUNCTION(load) { return Datum{0}; }

}  // namespace reservation
