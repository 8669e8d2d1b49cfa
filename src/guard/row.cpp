#include "guard/row.hpp"

#include "pg/report.hpp"

namespace reservation {

int column_of(TupleDesc desc, const char *name, Oid type)
{
    for (int i = 0; i < desc->natts; ++i) {
        const Form_pg_attribute attribute = TupleDescAttr(desc, i);
        if (!attribute->attisdropped && attribute->atttypid == type && strcmp(NameStr(attribute->attname), name) == 0)
            return i + 1;
    }
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("the guarded table has no column \"%s\" of type %s", name, format_type_be(type))));
    pg_unreachable();
}

bool same(const Row &a, const Row &b, TupleDesc desc, int column)
{
    if (a.is_null(column) || b.is_null(column))
        return a.is_null(column) == b.is_null(column);
    const Form_pg_attribute attribute = TupleDescAttr(desc, column - 1);
    return datum_image_eq(a.value(column), b.value(column), attribute->attbyval, attribute->attlen);
}

namespace {

bool fits(const TriggerData *data, Guards guards)
{
    const TriggerEvent event = data->tg_event;
    if (!TRIGGER_FIRED_BEFORE(event))
        return false;
    switch (guards) {
    case Guards::inserts_and_updates:
        return TRIGGER_FIRED_FOR_ROW(event) && (TRIGGER_FIRED_BY_INSERT(event) || TRIGGER_FIRED_BY_UPDATE(event));
    case Guards::every_change: return TRIGGER_FIRED_FOR_ROW(event);
    case Guards::truncation: break;
    }
    return TRIGGER_FIRED_BY_TRUNCATE(event) && data->tg_relation->rd_rel->relkind == RELKIND_RELATION;
}

}  // namespace

const TriggerData *trigger_data(FunctionCallInfo fcinfo, Guards guards)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("function \"%s\" was not called by trigger manager",
                               get_func_name(fcinfo->flinfo->fn_oid))));
    const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
    if (!fits(data, guards)) {
        static constexpr const char *kExpected[] = {"INSERT OR UPDATE, for each row",
                                                    "INSERT, UPDATE OR DELETE, for each row", "TRUNCATE of a table"};
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("trigger \"%s\" must be fired BEFORE %s", data->tg_trigger->tgname,
                               kExpected[static_cast<int>(guards)])));
    }
    return data;
}

void raise_check(const TriggerData *data, const char *rule, const char *detail)
{
    const char *table = RelationGetRelationName(data->tg_relation);
    ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
                    errmsg("new row for relation \"%s\" violates check constraint \"%s\"", table, rule),
                    errdetail("%s", detail),
                    error_fields(get_namespace_name(RelationGetNamespace(data->tg_relation)), table, rule)));
    pg_unreachable();
}

}  // namespace reservation
