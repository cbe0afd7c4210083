// Package atif reads and writes documents of the Agent Trajectory Interchange
// Format (ATIF) of Harbor. Exporter and Importer say how.
package atif
