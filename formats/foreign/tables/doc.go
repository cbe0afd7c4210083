// Package tables writes rows as tables that any tool opens: Arrow IPC and CSV.
// formats/records reads such files.
package tables
