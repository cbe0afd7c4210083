// Package formats says what one row is: an example, a trajectory, its score,
// its membership of a group, the decision about it, the trainer's receipt.
// It holds types, the documented list of columns, digests and invariants; how
// rows look on disk is its sub-packages' matter, where they lie is
// formats/dataset's.
//
// To add a column: add the field with its parquet tag, a line in columns.go
// (a test fails until both agree), and raise the schema's minor version in
// schema.go. To rename or retype one raises the major version.
package formats
