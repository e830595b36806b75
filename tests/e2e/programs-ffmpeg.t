#!/usr/bin/env bash
# ffprobe and ffmpeg: what is in a file whose index is at its end, and a frame from its middle.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need ffmpeg ffprobe

local_files
ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25:duration=40 -c:v mpeg4 -b:v 4M "$T/local/v.mp4" || bail 'ffmpeg makes no file'
show_files
program 'ffprobe' 'ffprobe -v error -show_format -of json v.mp4' v.mp4
program 'a frame from the middle' 'ffmpeg -v error -ss 25 -i v.mp4 -frames:v 1 -f rawvideo - | sha256sum' v.mp4
program 'two seconds near the end' 'ffmpeg -v error -ss 36 -t 2 -i v.mp4 -f framemd5 -' v.mp4
done_testing
