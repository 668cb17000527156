/** What developers type all day is never among the commands that are never run (D-82): an alarm that is false is soon not heard. */
import { describe, expect, it } from 'vitest';
import { deniedIn } from '../../src/core/approvals/denied.ts';

const ordinary: Readonly<Record<string, readonly string[]>> = {
  git: [
    'git status --short && git diff --stat HEAD~1',
    'git commit -am "Remove /proc/self/environ and rm -rf / from the docs"',
    'git log -S "rm -rf /" --oneline -- docs',
    'git grep -n /proc/self/environ -- "*.ts"',
    'git clean -fdx -e node_modules',
    'git checkout -b fix/halt && git push -u origin HEAD',
    'git rebase -i --exec "pnpm test" main',
    'git ls-files -z | xargs -0 -n 50 prettier --check',
    'git worktree remove --force ../feature && rm -rf ../feature',
  ],
  'npm and pnpm': [
    'npm ci && npm run build --if-present',
    'rm -rf node_modules package-lock.json && npm install',
    'npm test -- --grep /proc/self/environ',
    'pnpm -r --filter "./packages/*" run build',
    'pnpm exec vitest run -t "rm -rf /" server/test',
    'rm -rf {client,server}/dist packages/*/{dist,out}',
    'npx --yes rimraf "dist/**/*"',
    'NODE_ENV=production pnpm start 2>&1 | tee -a /var/log/app/out.log',
  ],
  docker: [
    'docker run --rm -v "$PWD":/src -w /src node:24 sh -c "npm ci && npm test"',
    'docker compose down -v && docker compose up -d --build',
    'docker ps -aq | xargs -r docker rm -f',
    "docker build -t app - <<'EOF'\nFROM alpine\nRUN rm -rf /var/cache/apk/* /tmp/*\nEOF",
    'docker exec -it db psql -U postgres -c "select 1"',
    'docker system prune -af --volumes',
  ],
  find: [
    'find . -name node_modules -prune -exec rm -rf {} +',
    'find / -name "*.conf" -not -path "/proc/*" 2>/dev/null | head -20',
    'find /var/log -name "*.gz" -mtime +30 -delete',
    'find . -type f -print0 | xargs -0 sed -i "s/foo/bar/g"',
    'find "$DIR" -type d -empty -delete',
    'find src \\( -name "*.ts" -o -name "*.svelte" \\) -exec grep -l "environ" {} \\;',
  ],
  grep: [
    'grep -rn -e "/proc/self/environ" src',
    'grep -rnE "reboot|shutdown|halt" --include="*.md" .',
    'grep -v "^#" /etc/hosts | sort -u',
    'grep -c processor /proc/cpuinfo',
    'rg -n "/proc/self/environ" -g "!dist" server',
    'ps -ef | grep "[n]ode" | awk \'{print $2}\' | xargs -r kill -9',
  ],
  'sed and awk': [
    "sed -i.bak 's#/proc/self/environ#/proc/self/status#g' docs/*.md",
    'sed -n "1,20p;/rm -rf/p" CHANGELOG.md',
    "awk -F: '$3 >= 1000 {print $1}' /etc/passwd",
    'awk \'{ s += $1 } END { print s > "/dev/stderr" }\' sizes.txt',
    'sed -e "/reboot/d" -e "s/a/b/" config > config.new && mv config.new config',
  ],
  'curl and wget': [
    'curl -fsSL https://example.org/install.sh | sh',
    'curl -sS -X POST -H "Content-Type: application/json" -d \'{"cmd":"rm -rf /"}\' localhost:3000/x',
    'curl -d "/proc/self/environ" localhost:3000/paths',
    'curl -o /dev/null -w "%{http_code}\\n" https://example.org',
    'wget -qO- https://example.org/a.tar.gz | tar xz -C /tmp/a --strip-components=1',
  ],
  kubectl: [
    'kubectl get pods -A -o jsonpath="{.items[*].metadata.name}"',
    'kubectl delete pod -l app=web --grace-period=0 --force',
    'kubectl exec deploy/web -- sh -c "ls /; df -h /"',
    "kubectl apply -f - <<'EOF'\nkind: Pod\nspec: { containers: [{ command: [reboot] }] }\nEOF",
    'kubectl drain node-1 --ignore-daemonsets && kubectl uncordon node-1',
  ],
  make: [
    'make -j"$(nproc)" clean all',
    'make install DESTDIR="$PWD/out" PREFIX=/usr',
    'cd build && cmake .. && make -C /srv/app halt',
  ],
  'tar and rsync': [
    'tar -czf "backup-$(date +%F).tar.gz" --exclude=node_modules .',
    'tar -xf a.tar -C /usr/local --strip-components 1',
    'rsync -az --delete dist/ deploy@host:/srv/www/',
    'rsync -a --exclude .git ./ "$BACKUP"/',
    'sudo tar -C / -xzf overlay.tar.gz usr/local/bin/x',
  ],
  files: [
    'mv "$(mktemp)" out.txt && chmod -R u+rwX,go-w out.txt',
    'cp -r /etc/nginx ./nginx && chown -R "$USER" ./nginx',
    'chown -R "$USER":"$USER" "/home/$USER/project"',
    'for d in packages/*; do (cd "$d" && rm -rf dist/* && pnpm build); done',
    'while read -r dir; do rm -rf "$dir"/*; done < stale.txt',
    'tmp=$(mktemp -d); trap \'rm -rf "$tmp"\' EXIT; cp -r src/* "$tmp"/; mv "$tmp"/* out/',
    'set -euo pipefail; rm -rf "$OUT"/*; cp -r dist/* "$OUT"/',
    '[ -n "$OUT" ] && rm -rf "$OUT"/*',
    'if [[ -d "$OUT" ]]; then rm -rf "$OUT"/*; fi',
    '. ./.env && rm -rf "$CACHE_DIR"/*',
    'export $(grep -v "^#" .env | xargs) && rm -rf "$CACHE_DIR"/*',
    'usage() { echo "usage: $0 dir"; exit 1; }; [ $# -gt 0 ] || usage; rm -rf "$1"/*',
    'main() { local out="${1:-build}"; rm -rf "$out"/*; }; main "$@"',
    'while [ $# -gt 0 ]; do case "$1" in --out) OUT="$2"; shift 2 ;; esac; done; rm -rf "$OUT"/*',
    'sudo mv -t /usr/local/bin ./tool && sudo mv -ft /etc app.conf',
    'rm -rf "${OUT:?}"/* "${OUT}"/cache',
    'cat /proc/self/status /proc/meminfo; ls /proc/*/fd | wc -l',
    'dd if=/dev/urandom of=random.bin bs=1M count=10 status=none',
    'ls -la / /etc /dev/sda* 2>/dev/null; df -h /',
  ],
};

describe.each(Object.entries(ordinary))('of what is done with %s', (_, commands) => {
  it.each(commands)('nothing is denied: %s', (command) => {
    expect(deniedIn(command)).toBeNull();
  });
});
