#include "pg/statement.hpp"

#include "pg/caught.hpp"

namespace reservation {

namespace {

// The text with every "{schema}" replaced.
char *in_schema(const char *text, const char *schema)
{
    static constexpr char kPlaceholder[] = "{schema}";
    StringInfoData out;
    initStringInfo(&out);
    while (const char *at = strstr(text, kPlaceholder)) {
        appendBinaryStringInfo(&out, text, static_cast<int>(at - text));
        appendStringInfoString(&out, schema);
        text = at + sizeof kPlaceholder - 1;
    }
    appendStringInfoString(&out, text);
    return out.data;
}

Oid claim_array_type(const Call &call)
{
    const Oid schema = get_namespace_oid(call.schema, false);
    const Oid type =
        GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("hold_claim"), ObjectIdGetDatum(schema));
    return get_array_type(type);
}

void set_locally(const char *name, const char *value)
{
    (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

extern "C" {
static void free_plan(void *plan) { (void)SPI_freeplan(static_cast<SPIPlanPtr>(plan)); }
}

// A plan that has become invalid may be running all the same: a user's trigger, fired from inside of it, can call us
// again. None runs longer than its transaction.
void free_with_transaction(SPIPlanPtr plan)
{
    auto *callback = static_cast<MemoryContextCallback *>(MemoryContextAllocZero(TopTransactionContext,
                                                                                 sizeof(MemoryContextCallback)));
    callback->func = free_plan;
    callback->arg = plan;
    MemoryContextRegisterResetCallback(TopTransactionContext, callback);
}

// Where a constraint is violated, the server quotes the row or the key in the detail if the current user may read it.
// That is the owner of our functions, and the row may be a hold of anybody's: of a DBA's constraint, for instance, that
// a hold violates when it is reclaimed. Only the log is told, whoever calls: who that is cannot be known, where a
// superuser's ANALYZE or call runs the code of somebody else. The server names the table with such an error, except of
// a view's check option; a RAISE of a DBA's trigger does not.
[[noreturn]] void raise_without_rows(ErrorData *error)
{
    const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
    if ((category == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION && error->table_name != nullptr) ||
        category == ERRCODE_WITH_CHECK_OPTION_VIOLATION) {
        if (error->detail_log == nullptr)
            error->detail_log = error->detail;
        error->detail = nullptr;
    }
    ReThrowError(error);
    pg_unreachable();
}

}  // namespace

Call call_of(FunctionCallInfo fcinfo)
{
    const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
    const char *name = get_namespace_name(schema);
    if (name == nullptr)
        elog(ERROR, "cache lookup failed for schema of function %u", fcinfo->flinfo->fn_oid);
    return {name, quote_identifier(name)};
}

SPIPlanPtr Statement::plan_for(const Call &call)
{
    if (plan_ != nullptr && strcmp(planned_schema_, call.schema) == 0 && SPI_plan_is_valid(plan_))
        return plan_;

    if (SPIPlanPtr old = plan_; old != nullptr) {
        plan_ = nullptr;  // first: a failure below must not leave a freed plan behind
        planned_schema_[0] = '\0';
        free_with_transaction(old);
    }
    Oid types[kMaxParameters];
    for (int i = 0; i < count_; ++i)
        types[i] = types_[i] == kHoldClaimArray ? claim_array_type(call) : types_[i];
    const bool by_index = reads_ == Reads::by_index;
    // Planned here, under settings of ours: a plan that is made later would depend on the caller's.
    const int nest = NewGUCNestLevel();
    if (by_index) {
        set_locally("enable_seqscan", "off");
        set_locally("enable_indexscan", "on");
        set_locally("jit", "off");
    }
    SPIPlanPtr plan = SPI_prepare_cursor(in_schema(text_, call.quoted), count_, types,
                                         by_index ? CURSOR_OPT_GENERIC_PLAN : CURSOR_OPT_CUSTOM_PLAN);
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
    if (const int code = SPI_keepplan(plan); code != 0)
        elog(ERROR, "SPI_keepplan failed: %s", SPI_result_code_string(code));
    plan_ = plan;
    if (CachedPlan *cached = by_index ? SPI_plan_get_cached_plan(plan) : nullptr; cached != nullptr)
        ReleaseCachedPlan(cached, CurrentResourceOwner);
    AtEOXact_GUC(false, nest);
    strlcpy(planned_schema_, call.schema, sizeof planned_schema_);  // last: a plan of other settings is not kept
    return plan;
}

Statement::Arguments::Arguments(std::initializer_list<Value> values)
{
    int i = 0;
    for (const Value &value : values) {
        datums[i] = value.datum;
        nulls[i++] = value.null ? 'n' : ' ';
    }
}

Rows Statement::execute(const Call &call, std::initializer_list<Value> values, Snapshot snapshot, long limit)
{
    Assert(static_cast<int>(values.size()) == count_);
    Arguments arguments(values);
    SPIPlanPtr plan = plan_for(call);
    if (snapshot == Snapshot::latest) {
        CommandCounterIncrement();
        PushActiveSnapshot(GetLatestSnapshot());
    }
    const int code = execute_plan(plan, arguments, snapshot != Snapshot::own, limit);
    if (snapshot == Snapshot::latest)
        PopActiveSnapshot();
    if (code != result_)
        elog(ERROR, "reservation statement gave %s: %s", SPI_result_code_string(code), text_);
    return {SPI_tuptable, SPI_processed};
}

int Statement::execute_plan(SPIPlanPtr plan, Arguments &arguments, bool read_only, long limit)
{
    int code = 0;
    ErrorData *error =
        caught([&] { code = SPI_execute_plan(plan, arguments.datums, arguments.nulls, read_only, limit); });
    if (error != nullptr)
        raise_without_rows(error);
    return code;
}

Rows Statement::run(const Call &call, std::initializer_list<Value> values, long limit)
{
    return execute(call, values, Snapshot::own, limit);
}

Rows Statement::look(const Call &call, std::initializer_list<Value> values)
{
    return execute(call, values, snapshot_is_old() ? Snapshot::latest : Snapshot::own, 0);
}

Rows Statement::read(const Call &call, std::initializer_list<Value> values)
{
    return execute(call, values, Snapshot::callers, 0);
}

Portal Statement::open(const Call &call, std::initializer_list<Value> values)
{
    Assert(static_cast<int>(values.size()) == count_);
    Arguments arguments(values);
    return SPI_cursor_open(nullptr, plan_for(call), arguments.datums, arguments.nulls, true);
}

int64 next_value(const Call &call, const char *sequence)
{
    const Oid relation = get_relname_relid(sequence, get_namespace_oid(call.schema, false));
    if (!OidIsValid(relation))
        elog(ERROR, "sequence \"%s\" is missing in schema \"%s\"", sequence, call.schema);
    return nextval_internal(relation, false);
}

Datum int8_array(std::span<const int64> values)
{
    auto *elements = static_cast<Datum *>(palloc(sizeof(Datum) * (values.size() + 1)));
    for (std::size_t i = 0; i < values.size(); ++i)
        elements[i] = Int64GetDatum(values[i]);
    return PointerGetDatum(construct_array(elements, static_cast<int>(values.size()), INT8OID, sizeof(int64),
                                           FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

void raise_serialization_failure()
{
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access due to concurrent update"),
                    errdetail("The row was written after this transaction's snapshot was taken."),
                    errhint("The transaction might succeed if retried.")));
    pg_unreachable();
}

}  // namespace reservation
