// Package art trains on an OpenPipe ART control server (art run) of the
// legacy dialect, 0.3 to 0.5.1.
package art
