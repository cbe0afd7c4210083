// Package formats defines what one row is: an example, a trajectory, its score and its
// membership of a group, with their digests and ids. Below it, outcomes has the words for how
// things end, training what a trainer gets, decision what curate decides, receipts what submit
// leaves, and schema the documented columns. The other packages of this folder define how rows
// are encoded; formats/dataset defines where they are stored.
//
// To add a column: add the field with its parquet tag, add a line in
// schema/columns_table.go (a test fails until both agree), and increase the schema's
// minor version in schema/schema.go. Renaming a column or changing its type increases
// the major version.
package formats
