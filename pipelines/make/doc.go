// Package make holds epoch.mk, which chains the five subcommands with GNU
// make, and the tests that run it against the sandbox as a user would: the
// same rows as `rollmill train`, and the same rows however often it is killed.
// It decides nothing about rows: settings are the config file's.
//
// To add a stage to the chain: a stamp, and a recipe that hands on what the
// command before it printed.
package make
