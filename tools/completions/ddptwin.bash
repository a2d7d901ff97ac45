# bash completion of ddptwin
_ddptwin() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W 'run env list --help --version' -- "$cur")
    return
  fi
  case "$prev" in
    --out|--python) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --junit) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W 'real' -- "$cur"); return ;;
    --seed) return ;;
  esac
  case "$command:$cur" in
    run:-*) mapfile -t COMPREPLY < <(compgen -W '--help --out --junit --json --seed --quiet --python --mode' -- "$cur") ;;
    env:-*) mapfile -t COMPREPLY < <(compgen -W '--help --json' -- "$cur") ;;
    list:-*) mapfile -t COMPREPLY < <(compgen -W '--help --reference' -- "$cur") ;;
    run:*|env:*) mapfile -t COMPREPLY < <(compgen -f -X '!*.@(yaml|yml|json)' -- "$cur"; compgen -d -- "$cur") ;;
  esac
}
complete -o filenames -F _ddptwin ddptwin
