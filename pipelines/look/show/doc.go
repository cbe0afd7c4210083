// Package show reads what one dataset holds for people: its manifest, some of its rows, joined
// with its base, and what all of them add up to. It changes nothing.
//
// To show another kind of row, add the columns worth seeing to usual in rows.go.
package show
