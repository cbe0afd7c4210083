#!/bin/sh
printf '%s\n' "$@" | sort | tail -n 1
