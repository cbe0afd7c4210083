#!/bin/bash
sed -i 's/| sort |/| sort -n |/' /app/largest.sh
