// Package inspect looks into one dataset: what its manifest says, and some of
// its rows. It only reads, and judges nothing; package report sums up a run.
//
// To show another kind of row, add a struct with the columns worth seeing in
// rows.go and a case in readRows.
package inspect
