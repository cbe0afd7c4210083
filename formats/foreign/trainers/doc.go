// Package trainers writes the files that trainers load: TRL, verl, OpenRLHF,
// NeMo-RL, slime and prime-rl. None of them writes trajectories, so there is no
// reader. To add a trainer: a file with an exporters.Format, and a line in
// formats/foreign.
package trainers
