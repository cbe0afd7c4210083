// Package lint says what imported trajectories can be used for, and what blocks
// each use: rows without logprobs cannot train with GRPO, but DPO, SFT and a
// judge can use them. It reads each row once, keeps hashes instead of texts, and
// reports counts and first places for each file and overall.
//
// It differs from package validate, which says whether rows of ours are sound:
// what lint finds is often no fault, only a limit. Where both look for the same
// thing, validate has the function.
//
// To add a finding: a constant and its line in checks.go, the condition in row.go
// (or faultOf), and a line in TestEachFinding, which fails without one.
package lint
