package emberlog.benchmarks;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.graphx.Edge;
import org.apache.spark.graphx.EdgeDirection;
import org.apache.spark.graphx.EdgeTriplet;
import org.apache.spark.graphx.Graph;
import org.apache.spark.graphx.PartitionStrategy;
import org.apache.spark.graphx.Pregel;
import org.apache.spark.graphx.TripletFields;
import org.apache.spark.graphx.lib.ConnectedComponents;
import org.apache.spark.graphx.lib.PageRank;
import org.apache.spark.graphx.lib.TriangleCount;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import scala.Function1;
import scala.Function2;
import scala.Function3;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/**
 * The programs that GraphX can express: its own library where it has the algorithm, Pregel otherwise.
 *
 * <p>Vertex and edge values are Scala longs, which Java sees as Object; the class tags keep them in primitive arrays.
 */
public final class GraphXPrograms {
  private static final long NONE = Long.MAX_VALUE;
  private static final long START = 1;
  private static final long REACHED = 2;
  private static final StorageLevel MEMORY = StorageLevel.MEMORY_ONLY();

  private interface OneArgument<A, R> extends Function1<A, R>, Serializable {}

  private interface TwoArguments<A, B, R> extends Function2<A, B, R>, Serializable {}

  private interface ThreeArguments<A, B, C, R> extends Function3<A, B, C, R>, Serializable {}

  private final Graph<Object, Object> graph;
  private Graph<Object, Object> last;
  private JavaRDD<Tuple2<Object, Object>> result;
  private long triangles;

  private GraphXPrograms(Graph<Object, Object> graph) {
    this.graph = graph;
  }

  /** Reads arcs (and vertices, if a path is given) from Parquet and keeps the graph in memory. */
  public static GraphXPrograms load(
      SparkSession spark, String arcs, String vertices, boolean weighted, boolean upwardsOnly, int partitions) {
    JavaRDD<Edge<Object>> edges =
        spark.read().parquet(arcs).toJavaRDD()
            .filter(row -> !upwardsOnly || row.getLong(0) < row.getLong(1))
            .map(row -> new Edge<Object>(row.getLong(0), row.getLong(1), weighted ? row.getLong(2) : 1L))
            .repartition(partitions);
    Graph<Object, Object> graph;
    if (vertices == null) {
      graph = Graph.fromEdges(edges.rdd(), (Object) 0L, MEMORY, MEMORY, longs(), longs());
    } else {
      RDD<Tuple2<Object, Object>> known =
          spark.read().parquet(vertices).toJavaRDD().map(row -> new Tuple2<Object, Object>(row.getLong(0), 0L)).rdd();
      graph = Graph.apply(known, edges.rdd(), (Object) 0L, MEMORY, MEMORY, longs(), longs());
    }
    if (upwardsOnly) {
      // The triangle count needs all arcs between two vertices in one partition.
      graph = graph.partitionBy(PartitionStrategy.EdgePartition2D$.MODULE$, partitions);
    }
    graph.cache();
    graph.edges().count();
    graph.vertices().count();
    return new GraphXPrograms(graph);
  }

  /** Runs a program and gives the number of facts of its output. */
  public long run(String program, long source) {
    switch (program) {
      case "reach":
        result = reach(source);
        break;
      case "cc":
        result = labels();
        break;
      case "wcc":
        result = vertices(ConnectedComponents.run(graph, longs(), longs()));
        break;
      case "sssp":
        result = shortestPaths(source);
        break;
      case "pagerank":
        result = pageRank();
        break;
      case "triangles":
        return countTriangles();
      default:
        throw new IllegalArgumentException(program);
    }
    return result.count();
  }

  /** Gives the memory of the last result back. */
  public void forget() {
    if (last != null) {
      last.unpersist(false);
      last = null;
    }
  }

  /** Ends the use of this graph. */
  public void unload() {
    forget();
    graph.unpersist(true);
  }

  /** Rows, and the checksum or the weighted sum of the last result, as answer.py defines them. */
  public List<Object> check(String program, long source) {
    if (program.equals("triangles")) {
      return List.of(1L, squared(mix(START_OF_MIX, triangles, 0)));
    }
    boolean pairs = program.equals("reach");
    List<Object> answer = new ArrayList<>();
    answer.add(result.count());
    if (program.equals("pagerank")) {
      answer.add(
          result
                  .map(row -> (Double) row._2() * (mix(START_OF_MIX, (Long) row._1(), 0) % 1000 + 1))
                  .reduce(Double::sum)
              / 1000);
    } else {
      answer.add(
          result
              .map(
                  row -> {
                    long first = pairs ? source : (Long) row._1();
                    long second = pairs ? (Long) row._1() : (Long) row._2();
                    return squared(mix(mix(START_OF_MIX, first, 0), second, 1));
                  })
              .reduce(Long::sum));
    }
    return answer;
  }

  private JavaRDD<Tuple2<Object, Object>> reach(long source) {
    TwoArguments<Object, Object, Object> start = (id, old) -> (Long) id == source ? START : 0L;
    ThreeArguments<Object, Object, Object, Object> receive = (id, old, message) -> (Long) old | (Long) message;
    OneArgument<EdgeTriplet<Object, Object>, Iterator<Tuple2<Object, Object>>> send =
        triplet ->
            (Long) triplet.srcAttr() != 0 && ((Long) triplet.dstAttr() & REACHED) == 0
                ? one(triplet.dstId(), REACHED)
                : none();
    TwoArguments<Object, Object, Object> merge = (one, other) -> (Long) one | (Long) other;
    return vertices(pregel(start, 0L, receive, send, merge)).filter(row -> ((Long) row._2() & REACHED) != 0);
  }

  private JavaRDD<Tuple2<Object, Object>> labels() {
    // A vertex with an arc of its own starts with its own number, any other one with none.
    Graph<Object, Object> started =
        graph.outerJoinVertices(
            graph.ops().outDegrees(),
            (ThreeArguments<Object, Object, Option<Object>, Object>)
                (id, old, degree) -> degree.isDefined() ? (Long) id : (Long) NONE,
            tag(ClassTag.Int()),
            longs(),
            null);
    OneArgument<EdgeTriplet<Object, Object>, Iterator<Tuple2<Object, Object>>> send =
        triplet ->
            (Long) triplet.srcAttr() < (Long) triplet.dstAttr() ? one(triplet.dstId(), triplet.srcAttr()) : none();
    return vertices(pregelOn(started, NONE, smallestOnReceipt(), send, smallest())).filter(row -> (Long) row._2() != NONE);
  }

  private JavaRDD<Tuple2<Object, Object>> shortestPaths(long source) {
    TwoArguments<Object, Object, Object> start = (id, old) -> (Long) id == source ? 0L : (Long) NONE;
    OneArgument<EdgeTriplet<Object, Object>, Iterator<Tuple2<Object, Object>>> send =
        triplet -> {
          long here = (Long) triplet.srcAttr();
          long there = here == NONE ? NONE : here + (Long) triplet.attr();
          return there < (Long) triplet.dstAttr() ? one(triplet.dstId(), there) : none();
        };
    return vertices(pregel(start, NONE, smallestOnReceipt(), send, smallest())).filter(row -> (Long) row._2() != NONE);
  }

  private JavaRDD<Tuple2<Object, Object>> pageRank() {
    // The Datalog program starts with 0.15 everywhere, which is its first round. The library wants that as ranks on
    // the vertices, and on each edge the share that it carries.
    Graph<Object, Object> before =
        graph
            .outerJoinVertices(
                graph.ops().outDegrees(),
                (ThreeArguments<Object, Object, Option<Object>, Object>)
                    (id, old, degree) -> degree.isDefined() ? (long) (Integer) degree.get() : 0L,
                tag(ClassTag.Int()),
                longs(),
                null)
            .mapTriplets(
                (OneArgument<EdgeTriplet<Object, Object>, Object>) edge -> 1.0 / (Long) edge.srcAttr(),
                TripletFields.Src,
                doubles())
            .mapVertices((TwoArguments<Object, Object, Object>) (id, old) -> 0.15, doubles(), null);
    return vertices(
        PageRank.runWithOptionsWithPreviousPageRank(
            graph, 19, 0.15, Option.empty(), false, before, longs(), longs()));
  }

  private long countTriangles() {
    Graph<Object, Object> counted = TriangleCount.runPreCanonicalized(graph, longs(), longs());
    triangles = counted.vertices().toJavaRDD().map(row -> (long) (Integer) row._2()).reduce(Long::sum) / 3;
    return 1;
  }

  private Graph<Object, Object> pregel(
      TwoArguments<Object, Object, Object> start,
      long first,
      ThreeArguments<Object, Object, Object, Object> receive,
      OneArgument<EdgeTriplet<Object, Object>, Iterator<Tuple2<Object, Object>>> send,
      TwoArguments<Object, Object, Object> merge) {
    return pregelOn(graph.mapVertices(start, longs(), null), first, receive, send, merge);
  }

  private static Graph<Object, Object> pregelOn(
      Graph<Object, Object> started,
      long first,
      ThreeArguments<Object, Object, Object, Object> receive,
      OneArgument<EdgeTriplet<Object, Object>, Iterator<Tuple2<Object, Object>>> send,
      TwoArguments<Object, Object, Object> merge) {
    return Pregel.apply(
        started, (Object) first, Integer.MAX_VALUE, EdgeDirection.Out(), receive, send, merge, longs(), longs(), longs());
  }

  private static ThreeArguments<Object, Object, Object, Object> smallestOnReceipt() {
    return (id, old, message) -> Math.min((Long) old, (Long) message);
  }

  private static TwoArguments<Object, Object, Object> smallest() {
    return (one, other) -> Math.min((Long) one, (Long) other);
  }

  private JavaRDD<Tuple2<Object, Object>> vertices(Graph<Object, Object> computed) {
    last = computed;
    return computed.vertices().toJavaRDD();
  }

  private static Iterator<Tuple2<Object, Object>> one(Object vertex, Object message) {
    return scala.collection.Iterator$.MODULE$.single(new Tuple2<>(vertex, message));
  }

  private static Iterator<Tuple2<Object, Object>> none() {
    return scala.collection.Iterator$.MODULE$.empty();
  }

  private static ClassTag<Object> longs() {
    return tag(ClassTag.Long());
  }

  private static ClassTag<Object> doubles() {
    return tag(ClassTag.Double());
  }

  /** Scala's primitive tags are tags of Object to Java. */
  @SuppressWarnings("unchecked")
  private static ClassTag<Object> tag(ClassTag<?> tag) {
    return (ClassTag<Object>) tag;
  }

  private static final long PRIME = 2_147_483_647L;
  private static final long START_OF_MIX = 12_345L;
  private static final long[] FACTORS = {1_000_003L, 998_244_353L, 754_974_721L};

  private static long mix(long mixed, long value, int column) {
    return (mixed + value % PRIME * FACTORS[column] % PRIME) % PRIME;
  }

  private static long squared(long mixed) {
    return mixed * mixed % PRIME;
  }
}
