// Package schema describes the columns of every row kind and table: their names, types, units
// and meanings, what null means, since which version they are there, and the tags of the structs
// that hold them. To add a column, add a field to the row's struct and a line to the table of its
// kind; a test compares both.
package schema
