// Package formats defines what one row is: an example, a trajectory, its score,
// its membership of a group, the decision about it, the trainer's receipt. It
// holds types, the documented list of columns, digests and invariants. Its
// sub-packages define how rows are encoded; formats/dataset defines where they
// are stored.
//
// To add a column: add the field with its parquet tag, add a line in
// columns_table.go (a test fails until both agree), and increase the schema's
// minor version in schema.go. Renaming a column or changing its type increases
// the major version.
package formats
