/**
 * Owns: which functions start themselves until the machine stands still. Does not own: what else a function does
 * (`shell-reading.ts`).
 */
import { forEachChild, type SyntaxNode } from 'unbash';
import { spend, type Shell } from './shell-state.ts';

/** A command after one of these is run under no condition. */
const alwaysSucceeds = new Set([':', 'true', 'echo', 'printf', 'sleep']);

/**
 * Whether a function starts itself twice, one beside the other: by a pipe or in the background. What it does only under a
 * condition, or once it may have returned, comes to an end.
 */
export function multiplies(name: string, body: SyntaxNode, shell: Shell): boolean {
  let calls = 0;
  let beside = false;
  let mayHaveEnded = false;
  const nameOf = (node: SyntaxNode | undefined): string =>
    node?.type === 'Command' ? (node.name?.value ?? '') : '';
  const isCondition = (node: SyntaxNode | undefined): boolean =>
    nameOf(node) !== name && !alwaysSucceeds.has(nameOf(node));
  const mayNotDo = (node: SyntaxNode): boolean =>
    /^(?:If|Case|For|Select)$/.test(node.type) ||
    (node.type === 'While' && isCondition(node.clause.commands[0]?.command));
  const look = (node: SyntaxNode, isBeside: boolean, depth: number): void => {
    if (depth > 256 || mayHaveEnded || !spend(shell, 'script' in node ? node.end - node.pos : 1)) return;
    if (/^(?:return|exit)$/.test(nameOf(node))) mayHaveEnded = true;
    if (node.type === 'Command' && nameOf(node) === name) {
      calls++;
      beside ||= isBeside;
    }
    const opens = node.type === 'Pipeline' || (node.type === 'Statement' && node.background === true);
    // Under a condition: it is looked through for what ends the function, and nothing in it counts.
    let isSure = !mayNotDo(node);
    const before = { calls, beside };
    forEachChild(node, (child) => {
      look(child, isBeside || opens, depth + 1);
      if (node.type === 'AndOr' && isSure && isCondition(child)) {
        isSure = false;
        Object.assign(before, { calls, beside });
      }
    });
    if (!isSure) ({ calls, beside } = before);
  };
  look(body, false, 0);
  return calls > 1 && beside;
}
