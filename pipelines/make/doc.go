// Package make holds epoch.mk, which chains the five subcommands with GNU make,
// and tests that run it against the sandbox as a user would. The rows are those of
// `rollmill train`, however often it is killed. All settings are in the config
// file.
//
// To add a stage to the chain, add a stamp and a recipe.
package make
