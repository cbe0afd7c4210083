// Package history is what is known of a run by epoch: samples with means and bands, costs, drops,
// the curriculum, the receipt. It reads datasets and manifests, or what package report kept
// of them before.
//
// Rewards are means over scored trajectories: a trajectory without a reward is excluded, not
// counted as 0. To add a figure, add a field to Epoch, fill it in collect.go, and show it in
// text.go or tiles.go.
package history
