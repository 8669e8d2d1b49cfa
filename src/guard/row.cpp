#include "guard/row.hpp"

namespace reservation {

int column_of(TupleDesc desc, const char *name)
{
    for (int i = 0; i < desc->natts; ++i) {
        const Form_pg_attribute attribute = TupleDescAttr(desc, i);
        if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), name) == 0)
            return i + 1;
    }
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("the guarded table has no column \"%s\"", name)));
    pg_unreachable();
}

bool same(const Row &a, const Row &b, TupleDesc desc, int column)
{
    if (a.is_null(column) || b.is_null(column))
        return a.is_null(column) == b.is_null(column);
    const Form_pg_attribute attribute = TupleDescAttr(desc, column - 1);
    return datum_image_eq(a.value(column), b.value(column), attribute->attbyval, attribute->attlen);
}

TriggerData *trigger_data(FunctionCallInfo fcinfo)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("function \"%s\" was not called by trigger manager",
                               get_func_name(fcinfo->flinfo->fn_oid))));
    return reinterpret_cast<TriggerData *>(fcinfo->context);
}

}  // namespace reservation
