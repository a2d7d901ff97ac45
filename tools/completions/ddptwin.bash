# bash completion of ddptwin
_ddptwin() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W 'run env list agree explore compare exec doctor --help --version' -- "$cur")
    return
  fi
  case "$prev" in
    --out|--python) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --junit) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W 'real virtual both' -- "$cur"); return ;;
    --torch) mapfile -t COMPREPLY < <(compgen -W '1.13 1.13+py3.11 2.x' -- "$cur"); return ;;
    --faults) mapfile -t COMPREPLY < <(compgen -W 'all api watch controller scheduler node kubelet process link dns' -- "$cur"); return ;;
    --seed|--seeds|--runs|--jobs|--faults-max|--container|--run) return ;;
  esac
  case "$command:$cur" in
    run:-*) mapfile -t COMPREPLY < <(compgen -W '--help --out --history --show-secrets --junit --json --seed --quiet --python --mode --torch --stand-ins --steps --step-time --timeout --jobs' -- "$cur") ;;
    env:-*) mapfile -t COMPREPLY < <(compgen -W '--help --json --show-secrets --python' -- "$cur") ;;
    list:-*) mapfile -t COMPREPLY < <(compgen -W '--help --reference' -- "$cur") ;;
    list:*) mapfile -t COMPREPLY < <(compgen -W 'scenarios invariants versions' -- "$cur") ;;
    compare:-*) mapfile -t COMPREPLY < <(compgen -W '--help --real --seed --torch --explain' -- "$cur") ;;
    exec:-*) mapfile -t COMPREPLY < <(compgen -W '--help --container --run' -- "$cur") ;;
    agree:-*) mapfile -t COMPREPLY < <(compgen -W '--help --seed --seeds --torch --python --time-factor --time-slack' -- "$cur") ;;
    explore:-*) mapfile -t COMPREPLY < <(compgen -W '--help --runs --faults --jobs --seed --out --faults-max --exhaustive --strict --expectations --torch --quiet' -- "$cur") ;;
    run:*|env:*|agree:*|explore:*|compare:*) mapfile -t COMPREPLY < <(compgen -f -X '!*.@(yaml|yml|json)' -- "$cur"; compgen -d -- "$cur") ;;
  esac
}
complete -o filenames -F _ddptwin ddptwin
