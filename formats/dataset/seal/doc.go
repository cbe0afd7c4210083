// Package seal makes n shard records a dataset, and knows every object at a dataset's place.
//
// n records of one Build are the dataset: the manifest is a pure function of them, and any
// process that finds all of them may write it. Objects that no record of the winning build
// names are invisible, and are removed when the dataset is sealed. Survey and Folder are
// what prune uses; Underway is what a page about an unfinished dataset shows.
//
// It reads no rows of parts, and writes none. A new kind of object gets its key in builds.go,
// and a place in leftovers.find, which says when it may be removed.
package seal
