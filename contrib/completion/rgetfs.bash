# bash completion for rgetfs: commands, options and their values, mountpoints, paths
# What there is to complete is asked of the program itself (--help), so that it is never another version's.
# shellcheck shell=bash

# The commands, one a line.
_rgetfs_commands() {
	rgetfs --help 2>/dev/null | sed -n 's/^  rgetfs \([a-z]*\) .*/\1/p'
}

# The options of a command as its help has them, one a line: "--name", or "--name ARGUMENT".
_rgetfs_options() {
	rgetfs "$1" --help 2>/dev/null | sed -n '/^$/,$p' | tr ',' '\n' | sed -n 's/.*\(--[a-z].*\)/\1/p'
}

# What the argument of option $2 of command $1 is called; nothing if it takes none.
_rgetfs_argument() {
	_rgetfs_options "$1" | sed -n "s/^$2 //p"
}

_rgetfs_mountpoints() {
	local point type IFS=$' \t\n'
	while read -r _ _ _ _ point type; do
		case " $type" in *" - fuse.rgetfs "*) printf '%b\n' "${point//\\0/\\00}" ;; esac
	done </proc/self/mountinfo
}

_rgetfs_words() { # WORD…: those that fit
	local IFS=$'\n'
	# A word may hold spaces: one a line.
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
}

_rgetfs_files() { # [-d]: files, or directories alone
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "${1:--f}" -- "$cur")
}

_rgetfs_places() { # mountpoints, as they are or the directories on the way to one
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -W "$(_rgetfs_mountpoints)" -- "$cur")
	[ ${#COMPREPLY[@]} -gt 0 ] || _rgetfs_files -d
}

_rgetfs_value() { # what option $2 of command $1 takes
	local argument
	argument=$(_rgetfs_argument "$1" "$2")
	case $argument in
	'') return 1 ;;
	DIR) _rgetfs_files -d ;;
	FILE | MANIFEST) _rgetfs_files ;;
	USER) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
	GROUP) mapfile -t COMPREPLY < <(compgen -g -- "$cur") ;;
	LEVEL) _rgetfs_words error warn info debug ;;
	*'|'*)
		# Words in capitals stand for something else.
		mapfile -t argument < <(tr '|' '\n' <<<"$argument" | grep -v '[A-Z]')
		_rgetfs_words "${argument[@]}"
		;;
	*) COMPREPLY=() ;;
	esac
}

# The names in a list of -o behind its last comma, and what they take with a sign.
_rgetfs_list() {
	local done='' option argument
	local -a words
	case $cur in *,*) done=${cur%,*}, ;; esac
	while read -r option argument; do
		case $option in --foreground | --help) continue ;; esac
		words+=("$done${option#--}${argument:+=}")
	done < <(_rgetfs_options mount)
	compopt -o nospace 2>/dev/null
	_rgetfs_words "${words[@]}"
}

# In the list of -o? "-o a,b=c,d" comes as "-o", "a,b", "=", "c,d".
_rgetfs_in_list() {
	local i=$((COMP_CWORD - 1))
	while [ "$i" -gt 1 ] && { [ "${COMP_WORDS[i]}" = '=' ] || [ "${COMP_WORDS[i + 1]}" = '=' ]; }; do
		i=$((i - 1))
	done
	[ "${COMP_WORDS[i]}" = -o ]
}

_rgetfs_caches() { # of the root that --cache-dir tells on this line
	local i root=()
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = --cache-dir ] || continue
		[ "${COMP_WORDS[i + 1]}" = '=' ] && i=$((i + 1))
		root=(--cache-dir "${COMP_WORDS[i + 1]}")
	done
	rgetfs cache list --json "${root[@]}" 2>/dev/null | sed -n 's/^{"name":"\([^"\\]*\)".*/\1/p'
}

_rgetfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} option='' operands=0 i
	local -a words
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t words < <(_rgetfs_commands)
		_rgetfs_words "${words[@]}" --help --version
		return
	fi
	# "--name=value" comes as three words, "--name value" as two.
	if [ "$cur" = '=' ]; then
		option=${COMP_WORDS[COMP_CWORD - 1]} cur=
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = '=' ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	if _rgetfs_in_list; then
		case ${COMP_WORDS[COMP_CWORD - 1]}$cur in
		=*,*) _rgetfs_list ;;
		=*) _rgetfs_value "$command" "--${option##*,}" ;;
		*) _rgetfs_list ;;
		esac
		return
	fi
	case $option in --*) _rgetfs_value "$command" "$option" && return ;; esac
	case $cur in
	-*)
		mapfile -t words < <(_rgetfs_options "$command" | cut -d' ' -f1)
		_rgetfs_words "${words[@]}" --help
		return
		;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in -* | =) ;; *) operands=$((operands + 1)) ;; esac
	done
	case $command in
	unmount | status | reload) _rgetfs_places ;;
	cache)
		if [ "$operands" -gt 0 ]; then
			mapfile -t words < <(_rgetfs_caches)
			_rgetfs_words "${words[@]}"
		else
			_rgetfs_words list check prune
		fi
		;;
	*) _rgetfs_files ;;
	esac
}

complete -F _rgetfs rgetfs
