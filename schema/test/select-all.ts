/** A selection of everything below a type, made from the schema, so that tests notice a field that is forgotten. */
import {
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql';

/** Every field that needs no argument, except those named in `without`. */
export function selectAll(
  schema: GraphQLSchema,
  type: GraphQLNamedType,
  without: readonly string[] = [],
): string {
  const parts = ['__typename'];
  if (isObjectType(type) || isInterfaceType(type))
    for (const field of Object.values(type.getFields())) {
      const inner = getNamedType(field.type);
      if (without.includes(`${type.name}.${field.name}`)) continue;
      if (isInterfaceType(type) && !isLeafType(inner)) continue;
      parts.push(isLeafType(inner) ? field.name : `${field.name} ${selectAll(schema, inner, without)}`);
    }
  if (isAbstractType(type))
    for (const possible of schema.getPossibleTypes(type))
      parts.push(`... on ${possible.name} ${selectAll(schema, possible, without)}`);
  return `{ ${parts.join(' ')} }`;
}
