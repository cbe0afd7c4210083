// Package inspect reads datasets for people: it shows the manifest and some rows of
// one dataset, compares two score datasets, and traces one trajectory through a
// run. It changes nothing. Package report summarizes a run; package audit looks for
// faults.
//
// To show another kind of row, add the columns worth seeing to usual in rows.go.
package show
