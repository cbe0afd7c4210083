// Package watch decides when a rollout ends early, and what it may keep then: budgets
// (budget.go), first attempts that all fail and an engine that is lost (guard.go, advice.go).
// It also logs failures that repeat once (warnings.go).
//
// It makes no attempt and writes no row: package rollout tells it of each call and each
// trajectory that ended, and keeps what it hands back.
package watch
