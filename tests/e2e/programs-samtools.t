#!/usr/bin/env bash
# samtools: a region by the index.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need samtools

local_files
awk 'BEGIN {
	srand(1)
	print "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:100000000"
	for (i = 0; i < 150000; i++) {
		s = q = ""
		for (j = 0; j < 100; j++) {
			s = s substr("ACGT", int(rand() * 4) + 1, 1)
			q = q sprintf("%c", 33 + int(rand() * 40))
		}
		printf "r%d\t0\tchr1\t%d\t60\t100M\t*\t0\t0\t%s\t%s\n", i, i * 600 + 1, s, q
	}
}' | samtools view -b -o "$T/local/x.bam" -
samtools index "$T/local/x.bam" || bail 'samtools makes no file'
show_files
program 'header' 'samtools view -H x.bam | grep SQ' x.bam
program 'a region' 'samtools view x.bam chr1:50000000-50010000' x.bam x.bam.bai
program 'count' 'samtools view -c x.bam' x.bam
done_testing
