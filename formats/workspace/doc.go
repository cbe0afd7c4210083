// Package workspace finds what an attempt changed in its container, and restores it in another container of the
// same image, so that the attempt can be verified again.
//
// What happens inside a container is done by this program's own binary, which the runtimes mount there (Main): it
// needs no shell, works alike for each runtime, and gets no secret. List lists all files before the attempt. After
// it, Pack compares path, kind, mode, owner, size, content and link target with the list, never times. Outside,
// Receive leaves out what may not be kept and writes the archive anew: whoever is root in the container can have
// Pack say anything.
//
// An archive is a tar in the order of the paths, without times and user names; a path that is gone is an entry with
// the record removedKey. What it cannot hold is said in words beside it: devices, sockets, named pipes, setuid and
// setgid bits, files that cannot be read or changed meanwhile, and mounts whose content changed. It neither has nor
// names times, extended attributes, and which names a file had before that is still there.
//
// The layers of podman diff differ among runtimes, do not say what a folder lost that was removed and made again,
// and take a touched file for a changed one.
package workspace

// Above these limits of one attempt, nothing is kept of it.
const (
	MaxBytes = 64 << 20 // of files
	MaxPaths = 100_000
)

// Command is the first argument with which this program is Main.
const Command = "workspace-in-container"

// Running begins what LeftOut says of a program.
const Running = "a process that was running: "

// Own is the folder of a container in which only this machine writes: it belongs to no workspace.
const Own = "/run/rollmill"

// Records of entries.
const (
	removedKey = "ROLLMILL.removed" // the path is gone
	leftKey    = "ROLLMILL.left"    // why the path is left out, perhaps the entry before
	endKey     = "ROLLMILL.end"     // of the last: whole, or why nothing is kept

	whole = "whole"
)
