#pragma once
// The checks of reservation_audit(). Each is one query over whole tables that returns a row of three texts (object,
// problem, detail) for everything that is wrong, under the snapshot of the caller, so that holds which change
// meanwhile are not taken for errors.
#include "pg/statement.hpp"

namespace reservation {

// The parameters, the same for every check: the first hold id of this node, the time now (NULL if the time source
// fails), the name of the schema.
#define RESERVATION_CHECK(text) Statement(SPI_OK_SELECT, {INT8OID, TIMESTAMPTZOID, TEXTOID}, text, Reads::whole_tables)

std::span<Statement> data_checks();    // rows: counters, overlaps, ids, sequences, reviews
std::span<Statement> schema_checks();  // what guards the rows: keys, constraints, triggers

// Settings of roles and databases. Parameters: none; columns: role, setting, its value for the role, its value for
// others. Whether two values mean the same is not for SQL to say.
extern Statement settings_of_roles;
bool same_setting(const text *setting, const text *a, const text *b);

}  // namespace reservation
