// Package make holds epoch.mk, which chains the five stages with GNU make, and tests that run it
// against the sandbox as a user would. It makes the same rows as `rollmill train`, however often
// it is killed. All settings are in the config file.
//
// To add a stage to the chain, add a stamp and a recipe.
package make
