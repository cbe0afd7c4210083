// Package trace follows one trajectory from rollout to submission through all datasets of a run.
package trace
