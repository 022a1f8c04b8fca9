// Every page and method of the console, and the roles that may use it.

export const PEOPLE = { viewer: 'vera', auditor: 'ada', operator: 'olaf', approver: 'alice' };

const READ = ['viewer', 'auditor', 'operator'];
const ANY = [...READ, 'approver'];

// A path with `*` stands for a page of one thing.
export const TABLE = [
  ['GET', '/', READ],
  ['GET', '/verdicts', READ],
  ['GET', '/verdicts/stream', READ],
  ['GET', '/decisions/*', ['auditor']],
  ['GET', '/decisions/*/text', ['auditor']],
  ['GET', '/approvals', ['approver']],
  ['GET', '/approvals/*', ['approver']],
  ['GET', '/approvals/*/action.txt', ['approver']],
  ['POST', '/approvals/*/approve', ['approver']],
  ['POST', '/approvals/*/deny', ['approver']],
  ['POST', '/approvals/*/delegate', ['approver']],
  ['GET', '/contexts', READ],
  ['GET', '/contexts/*', READ],
  ['GET', '/contexts/*/document.txt', READ],
  ['GET', '/contexts/*/prompt.txt', READ],
  ['GET', '/compare', READ],
  ['GET', '/policies', READ],
  ['GET', '/policies/matrix.txt', READ],
  ['GET', '/policies/explain', READ],
  ['POST', '/policies/explain', READ],
  ['GET', '/standing', READ],
  ['POST', '/standing/*', ['operator']],
  ['GET', '/agents', READ],
  ['GET', '/limits', READ],
  ['GET', '/log', ['auditor']],
  ['POST', '/logout', ANY],
];

/** The row of a path: the longest that fits. */
export function rowOf(path) {
  const segments = path.split('/');
  const fits = ([method, row]) => {
    const parts = row.split('/');
    return method === 'GET' && parts.length === segments.length && parts.every((part, at) => part === '*' || part === segments[at]);
  };
  const exact = TABLE.find(([method, row]) => method === 'GET' && row === path);
  return (exact ?? TABLE.find(fits))?.[1];
}
