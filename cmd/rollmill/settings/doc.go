// Package settings holds what several commands of rollmill ask for in the same words: the
// dataset to read and the one to write, the run and its folder, tasks, the ledger, the judge,
// the memory to sort in; and how a stage ends. A command includes such a struct in its own
// settings (plugin.Settings) and opens it in its body.
//
// What a single command needs is in the file of that command, and nothing here runs a stage.
// To share one more setting, write a struct with Declare, in a file that is named after it.
package settings
