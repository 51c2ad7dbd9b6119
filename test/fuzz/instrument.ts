import ts from 'typescript';
import type { Plugin } from 'vitest/config';

/** Counters of instrumented code: a byte for each branch, modulo 256. */
export const HITS = /* @__PURE__ */ new Uint8Array(1 << 15);
let branches = 0;

/** Access to the global object of the running program. */
const NAME = '__intentbookHits';
const USED = '__intentbookHitsInUse';
const program = Object.assign(globalThis, { [NAME]: HITS, [USED]: 0 });

/** Number of counters of the loaded code. Code can be compiled in another process than the one that runs it. */
export const countersInUse = (): number => program[USED];

/**
 * Compiles TypeScript with a counter in each branch: functions, both sides of every `if` and `?:`, the right side of
 * `&&`, `||` and
 * `??`, loops, cases, handlers and defaults.
 */
export function instrument(source: string, fileName: string): string {
  const { outputText } = ts.transpileModule(source, {
    fileName,
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    transformers: { before: [counting] },
  });
  return `${outputText}\n${USED} = Math.max(${USED}, ${branches});\n`;
}

/** Instruments the engine and its adapters only. Code of dependencies is not explored. */
export function instrumentation(): Plugin {
  return {
    name: 'count-branches',
    enforce: 'pre',
    transform: (code, id) => (/\/(?:src|adapters|apps)\/.*\.ts$/.test(id) ? instrument(code, id) : undefined),
  };
}

const counting: ts.TransformerFactory<ts.SourceFile> = (context) => {
  const { factory } = context;

  function hit(): ts.Expression {
    if (branches === HITS.length) throw new Error('there are more branches than counters');
    const counter = factory.createElementAccessExpression(factory.createIdentifier(NAME), branches++);
    return factory.createPostfixIncrement(counter);
  }
  const counted = (expression: ts.Expression) =>
    factory.createParenthesizedExpression(
      factory.createBinaryExpression(
        hit(),
        ts.SyntaxKind.CommaToken,
        factory.createParenthesizedExpression(expression),
      ),
    );
  const statement = () => factory.createExpressionStatement(hit());
  const block = (body: ts.Statement): ts.Block =>
    ts.isBlock(body)
      ? factory.updateBlock(body, [statement(), ...body.statements])
      : factory.createBlock([statement(), body]);

  function visit(node: ts.Node): ts.Node {
    return branch(ts.visitEachChild(node, visit, context));
  }

  function branch(node: ts.Node): ts.Node {
    if (ts.isArrowFunction(node)) {
      const body = ts.isBlock(node.body) ? block(node.body) : counted(node.body);
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken } = node;
      return factory.updateArrowFunction(
        node,
        modifiers,
        typeParameters,
        parameters,
        type,
        equalsGreaterThanToken,
        body,
      );
    }
    if (ts.isFunctionDeclaration(node) && node.body !== undefined) {
      const { modifiers, asteriskToken, name, typeParameters, parameters, type, body } = node;
      return factory.updateFunctionDeclaration(
        node,
        modifiers,
        asteriskToken,
        name,
        typeParameters,
        parameters,
        type,
        block(body),
      );
    }
    if (ts.isMethodDeclaration(node) && node.body !== undefined) {
      const { modifiers, asteriskToken, name, questionToken, typeParameters, parameters, type, body } = node;
      return factory.updateMethodDeclaration(
        node,
        modifiers,
        asteriskToken,
        name,
        questionToken,
        typeParameters,
        parameters,
        type,
        block(body),
      );
    }
    if (ts.isIfStatement(node)) {
      const otherwise =
        node.elseStatement === undefined ? factory.createBlock([statement()]) : block(node.elseStatement);
      return factory.updateIfStatement(node, node.expression, block(node.thenStatement), otherwise);
    }
    if (ts.isConditionalExpression(node)) {
      const { condition, questionToken, whenTrue, colonToken, whenFalse } = node;
      return factory.updateConditionalExpression(
        node,
        condition,
        questionToken,
        counted(whenTrue),
        colonToken,
        counted(whenFalse),
      );
    }
    if (ts.isBinaryExpression(node) && SHORT_CIRCUITS.includes(node.operatorToken.kind)) {
      return factory.updateBinaryExpression(node, node.left, node.operatorToken, counted(node.right));
    }
    if (ts.isForStatement(node)) {
      const { initializer, condition, incrementor } = node;
      return factory.updateForStatement(node, initializer, condition, incrementor, block(node.statement));
    }
    if (ts.isForOfStatement(node)) {
      return factory.updateForOfStatement(
        node,
        node.awaitModifier,
        node.initializer,
        node.expression,
        block(node.statement),
      );
    }
    if (ts.isWhileStatement(node)) return factory.updateWhileStatement(node, node.expression, block(node.statement));
    if (ts.isCaseClause(node))
      return factory.updateCaseClause(node, node.expression, [statement(), ...node.statements]);
    if (ts.isDefaultClause(node)) return factory.updateDefaultClause(node, [statement(), ...node.statements]);
    if (ts.isCatchClause(node)) {
      return factory.updateCatchClause(node, node.variableDeclaration, block(node.block));
    }
    return node;
  }
  return (file) => ts.visitNode(file, visit) as ts.SourceFile; // the file stays a module
};

const SHORT_CIRCUITS: readonly ts.SyntaxKind[] = [
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
];
