#!/bin/sh
[ "$(sh /app/largest.sh 9 10 8)" = 10 ]
