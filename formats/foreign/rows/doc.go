// Package rows reads and writes rows under our own column names: as JSON Lines
// (Exporter), as they are (Trajectories), and from tables of others (Importer).
package rows
